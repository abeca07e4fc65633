"""Components: each instance gets a copy of their statements, with relations and types named after the instance.

If a component with the relation `edge` has the instance `g`, the relation is `g.edge`; types and the branches of
algebraic data types are named likewise. In a component, a name is resolved first in the component and its bases, then
where the instance is, and last in the whole program.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from deltic.datalog.syntax import program as p
from deltic.datalog.syntax.expressions import BRANCH, FunctorCall, TypeName, transform
from deltic.datalog.syntax.formulas import BodyAtom, RelationName
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic, did_you_mean

DEEPEST = 100

_Statement: TypeAlias = "tuple[p.Item, _Scope]"


@dataclass
class _Names:
    """The names declared in an instance or at the top of the program, including those of bases.

    `prefix` ends with a dot.
    """

    prefix: str = ""
    relations: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    branches: set[str] = field(default_factory=set)
    instances: dict[str, Span] = field(default_factory=dict)
    components: dict[str, p.ComponentDeclaration] = field(default_factory=dict)


@dataclass(frozen=True)
class _Scope:
    """Resolves the names in the statements of one component in one instance; `outer` is the scope of the instance.

    The component sees the parameters of the component that declares it, whose names are `home`, but not those of other
    components that instantiate it.
    """

    names: _Names
    outer: _Scope | None = None
    arguments: Mapping[str, tuple[TypeName, _Scope]] = field(default_factory=dict)
    home: _Names | None = None

    def relation(self, name: str) -> str:
        """Return the full name of a relation."""
        return self._own(name, self.names.relations) or (self.outer.relation(name) if self.outer else name)

    def branch(self, name: str) -> str:
        """Return the full name of a branch."""
        return self._own(name, self.names.branches) or (self._around.branch(name) if self._around else name)

    def type(self, name: str) -> str:
        """Return the full name of a type."""
        if name in self.arguments:
            mention, scope = self.arguments[name]
            return scope.type(mention.name)
        return self._own(name, self.names.types) or (self._around.type(name) if self._around else name)

    def _own(self, name: str, declared: Collection[str]) -> str:
        """Return the full name of what is declared here, or in an instance here; "" for other names."""
        first, dot, _ = name.partition(".")
        return self.names.prefix + name if first in (self.names.instances if dot else declared) else ""

    def component(self, name: str) -> tuple[p.ComponentDeclaration, _Names] | None:
        """Return the component of a name, and the names among which it is declared.

        For a parameter, a component visible here takes precedence over one visible where the argument was given.
        """
        if name in self.arguments:
            mention, scope = self.arguments[name]
            return replace(self, arguments={}).component(scope.given(mention.name)) or scope.component(mention.name)
        if name in self.names.components:
            return self.names.components[name], self.names
        return self._around.component(name) if self._around else None

    def given(self, name: str) -> str:
        """Return the name of the argument for a parameter of the component; other names stay."""
        if name not in self.arguments:
            return name
        mention, scope = self.arguments[name]
        return scope.given(mention.name)

    @property
    def _around(self) -> _Scope | None:
        """The outer scope, as the component sees it."""
        if self.outer is None or self.outer.names is self.home:
            return self.outer
        return replace(self.outer, arguments={})

    def known(self) -> list[str]:
        """Return the names of visible components."""
        return [*self.arguments, *self.names.components, *(self.outer.known() if self.outer else ())]


def instantiate(
    items: Sequence[p.Item], earlier: Mapping[str, p.ComponentDeclaration], findings: list[Diagnostic]
) -> tuple[p.Item, ...]:
    """Return the statements, with instances replaced by their components' statements.

    `earlier` has components of other programs.
    """
    return tuple(_Instantiation(findings).program(items, earlier))


class _Instantiation:
    def __init__(self, findings: list[Diagnostic]) -> None:
        self._findings = findings

    def program(self, items: Sequence[p.Item], earlier: Mapping[str, p.ComponentDeclaration]) -> Iterator[p.Item]:
        """Yield the statements of a program; component declarations are kept for later programs."""
        top = _Scope(_Names())
        top.names.components.update(earlier)
        statements = [(item, top) for item in items]
        self._declare(top.names, statements)
        for item in items:
            if isinstance(item, p.ComponentInstance):
                yield from self._instance(item, top, 1)
            elif isinstance(item, p.Override):
                self._error(item.span, f"`{item.relation}` is overridden outside of a component")
            else:
                yield item

    def _instance(self, instance: p.ComponentInstance, scope: _Scope, depth: int) -> Iterator[p.Item]:
        if depth > DEEPEST:
            self._error(instance.span, f"the component of `{instance.name}` has an instance of itself, without end")
            return
        names = _Names(f"{scope.names.prefix}{instance.name}.")
        statements = list(self._contents(instance.component, scope, _Scope(names, scope), frozenset(), depth))
        self._declare(names, statements)
        for item, inner in statements:
            if isinstance(item, p.ComponentInstance):
                yield from self._instance(item, inner, depth + 1)
            elif not isinstance(item, p.ComponentDeclaration | p.Override):
                yield transform(item, _renaming(inner))

    def _contents(
        self, mention: p.ComponentName, scope: _Scope, bare: _Scope, overridden: frozenset[str], depth: int
    ) -> Iterator[_Statement]:
        """Yield the statements of a component in `scope`, after those of its bases, without rules for `overridden`
        relations.

        `bare` is the scope of the instance, without the component's arguments.
        """
        result = scope.component(mention.name)
        if result is None:
            hint = did_you_mean(mention.name, scope.known()) or f"write `.comp {mention.name} {{ ... }}`"
            self._error(mention.span, f"there is no component `{mention.name}`", hint)
            return
        component, home = result
        if len(component.parameters) != len(mention.arguments):
            has, given = len(component.parameters), len(mention.arguments)
            message = f"the component `{mention.name}` has {has} parameters, and gets {given} here"
            self._error(mention.span, message, f"it is declared at {component.span.place}")
            return
        if depth > DEEPEST:
            self._error(mention.span, f"the component `{mention.name}` is a base of itself")
            return
        arguments = {name: (given, scope) for name, given in zip(component.parameters, mention.arguments, strict=True)}
        inner = replace(bare, arguments=arguments, home=home)
        overrides = [item for item in component.items if isinstance(item, p.Override)]
        gone = overridden.union(override.relation for override in overrides)
        inherited = [
            statement for base in component.bases for statement in self._contents(base, inner, bare, gone, depth + 1)
        ]
        self._check_overrides(overrides, component, inherited)
        yield from inherited
        for item in component.items:
            if isinstance(item, p.Clause):
                heads = tuple(atom for atom in item.heads if atom.relation not in overridden)
                if heads:
                    yield replace(item, heads=heads), inner
            elif not (isinstance(item, p.Subsumption) and item.lesser.relation in overridden):
                yield item, inner

    def _check_overrides(
        self, overrides: Sequence[p.Override], component: p.ComponentDeclaration, inherited: Sequence[_Statement]
    ) -> None:
        declared = {item.name: item for item, _ in inherited if isinstance(item, p.Declaration)}
        for override in overrides:
            if override.relation not in declared:
                message = f"no base of the component `{component.name}` declares `{override.relation}`"
                self._error(override.span, message, did_you_mean(override.relation, declared))
            elif "overridable" not in (declaration := declared[override.relation]).qualifiers:
                hint = f"write `overridable` after its declaration at {declaration.span.place}"
                self._error(override.span, f"`{override.relation}` may not be overridden", hint)

    def _declare(self, names: _Names, statements: Sequence[_Statement]) -> None:
        """Add the declarations of statements to the names."""
        for item, _ in statements:
            if isinstance(item, p.Declaration):
                names.relations.add(item.name)
            elif isinstance(item, p.TypeDeclaration):
                names.types.add(item.name)
                if isinstance(item, p.StructureType):
                    names.branches.update(branch.name for branch in item.branches if branch.name)
            elif isinstance(item, p.ComponentInstance):
                first = names.instances.setdefault(item.name, item.span)
                if first is not item.span:
                    hint = f"the other is at {first.place}"
                    self._error(item.span, f"there are two instances called `{item.name}`", hint)
            elif isinstance(item, p.ComponentDeclaration):
                self._declare_component(item, names, [other for other, _ in statements])

    def _declare_component(self, component: p.ComponentDeclaration, names: _Names, items: Sequence[p.Item]) -> None:
        first = names.components.get(component.name)
        if first is not None and any(first is item for item in items):
            hint = f"it was declared at {first.span.place}"
            self._error(component.span, f"the component `{component.name}` is declared twice", hint)
        else:
            names.components[component.name] = component

    def _error(self, span: Span, message: str, hint: str = "") -> None:
        self._findings.append(span.error(message, hint))


def _renaming(scope: _Scope) -> Callable[[Any], Any]:
    """Return a function that replaces names in a statement of a component by full names."""

    def change(node: Any) -> Any:
        if isinstance(node, BodyAtom | p.DirectiveItem):
            return replace(node, relation=scope.relation(node.relation))
        if isinstance(node, RelationName):
            return replace(node, name=scope.relation(node.name))
        if isinstance(node, TypeName):
            return replace(node, name=scope.type(node.name))
        if isinstance(node, FunctorCall) and node.functor.startswith(BRANCH):
            return replace(node, functor=BRANCH + scope.branch(node.functor.removeprefix(BRANCH)))
        if isinstance(node, p.Branch) and node.name:
            return replace(node, name=scope.names.prefix + node.name)
        if isinstance(node, p.Declaration | p.TypeDeclaration):
            return replace(node, name=scope.names.prefix + node.name)
        return node

    return change
