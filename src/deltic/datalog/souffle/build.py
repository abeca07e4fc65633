"""Builds the statements of a program from lark's parse tree."""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token, Tree

from deltic.datalog.souffle.build_terms import TermBuilder
from deltic.datalog.souffle.context import UNSUPPORTED, Parsed, tokens, tree, trees
from deltic.datalog.souffle.words import PRAGMAS, PRIMITIVE_TYPES, RELATION_PRAGMAS, SETTINGS
from deltic.datalog.syntax import program as p
from deltic.datalog.syntax.expressions import FUNCTOR, TypeName
from deltic.errors import did_you_mean

_ROLES = ("input", "output", "printsize")
"""Old qualifiers of a declaration, which have the meaning of directives of these names."""

# Pragmas that are only supported as options of the command line.
_ELSEWHERE = {
    "fact-dir": "say where files are on the command line: `deltic run -F DIR`",
    "output-dir": "say where files go on the command line: `deltic run -D DIR`",
    "macro": "define macros on the command line, `deltic run -M NAME=TEXT`, or by `#define`",
}


class StatementBuilder(TermBuilder):
    """Builds statements. The method `_x` builds those that the grammar calls `x`."""

    def items(self, program: Parsed) -> tuple[p.Item, ...]:
        """Return the statements of a program; unsupported ones are reported and left out."""
        return tuple(item for child in program.children if isinstance(child, Tree) for item in self._items(child))

    def _items(self, parsed: Parsed) -> Iterator[p.Item]:
        if parsed.data in UNSUPPORTED:
            self.reject(parsed, parsed.data)
        else:
            yield from getattr(self, f"_{parsed.data}")(parsed)

    def _relation(self, parsed: Parsed) -> Iterator[p.Item]:
        names, columns = tree(parsed, "names"), self._fields(parsed)
        keys = [key for choice in trees(parsed, "choice") for key in trees(choice, "key")]
        choices = tuple(tuple(map(str, tokens(key))) for key in keys)
        qualifiers = tuple(str(word) for child in trees(parsed, "qualifier") for word in tokens(child))
        hints = tuple(word for word in qualifiers if word not in _ROLES)
        for name in tokens(names) if names else ():
            yield p.Declaration(self.name(name), columns, hints, choices, span=self.span(name))
            for role in qualifiers:
                if role in _ROLES:
                    yield p.DirectiveItem(role, str(name), (), span=self.span(name))

    def _attribute(self, parsed: Parsed) -> p.Attribute:
        type_name = tree(parsed, "type_name")
        assert type_name
        name, *lattice = tokens(parsed)
        if lattice:
            self.reject(lattice[0], "lattice")
        return p.Attribute(str(name), self.type_name(type_name), span=self.span(name))

    def _subtype(self, parsed: Parsed) -> Iterator[p.Item]:
        (name, *_), (base,) = tokens(parsed), trees(parsed, "type_name")
        yield p.Subtype(self._new_type(name), self.type_name(base), span=self.span(name))

    def _legacy_type(self, parsed: Parsed) -> Iterator[p.Item]:
        """`.number_type T`, `.symbol_type T` and `.type T`, the old form of a subtype of symbol."""
        *keyword, name = tokens(parsed)
        base = "number" if keyword and keyword[0].type == "NUMBER_TYPE" else "symbol"
        yield p.Subtype(self._new_type(name), TypeName(base, span=self.span(name)), span=self.span(name))

    def _union_type(self, parsed: Parsed) -> Iterator[p.Item]:
        name, members = tokens(parsed)[0], map(self.type_name, trees(parsed, "type_name"))
        yield p.UnionType(self._new_type(name), tuple(members), span=self.span(name))

    def _record_type(self, parsed: Parsed) -> Iterator[p.Item]:
        name, branch = tokens(parsed)[0], p.Branch("", self._fields(parsed), span=self.span(parsed))
        yield p.StructureType(self._new_type(name), (branch,), span=self.span(name))

    def _adt_type(self, parsed: Parsed) -> Iterator[p.Item]:
        name, branches = tokens(parsed)[0], map(self._branch, trees(parsed, "branch"))
        yield p.StructureType(self._new_type(name), tuple(branches), span=self.span(name))

    def _branch(self, parsed: Parsed) -> p.Branch:
        (name,) = tokens(parsed)
        return p.Branch(self.name(name), self._fields(parsed), span=self.span(name))

    def _fields(self, parsed: Parsed) -> tuple[p.Attribute, ...]:
        attributes = tree(parsed, "attributes")
        return tuple(self._attribute(child) for child in trees(attributes, "attribute")) if attributes else ()

    def _functor(self, parsed: Parsed) -> Iterator[p.Item]:
        name, *stateful = tokens(parsed)
        if stateful:
            self.reject(stateful[0], "stateful")
        (result,) = (tree(child, "type_name") for child in trees(parsed, "result"))
        given = [child for child in parsed.children if isinstance(child, Tree) and child.data != "result"]
        types = [child if child.data == "type_name" else tree(child, "type_name") for child in given]
        mentions = (self.type_name(type_) for type_ in (*types, result) if type_)
        *parameters, returns = mentions
        yield p.FunctorDeclaration(FUNCTOR + name, tuple(parameters), returns, span=self.span(name))

    def _new_type(self, name: Token) -> str:
        if name in PRIMITIVE_TYPES:
            self.report(name, f"`{name}` is a type of the language and cannot be declared")
        return self.name(name)

    def _directive(self, parsed: Parsed) -> Iterator[p.Item]:
        kind = tokens(parsed)[0].removeprefix(".")
        options = tuple(self._option(child) for child in trees(parsed, "option"))
        for name in trees(parsed, "qualified"):
            yield p.DirectiveItem(kind, self.qualified(tokens(name)[0]), options, span=self.span(name))

    def _option(self, parsed: Parsed) -> p.Option:
        key, value = tokens(parsed)
        text = self.string_value(value) if value.type == "STRING" else str(value)
        return p.Option(str(key), text, span=self.span(parsed))

    def _check_plan(self, parsed: Parsed) -> None:
        """Report orders that are not permutations. The number of atoms depends on inlining and is not checked."""
        for plan in trees(parsed, "plan"):
            for order in trees(plan, "order"):
                _, *places = (int(token) for token in tokens(order))
                if sorted(places) != list(range(1, len(places) + 1)):
                    hint = "name each atom of the body once, counted from 1; or remove .plan"
                    self.report(order, "this is no order of atoms", hint)

    def _clause(self, parsed: Parsed) -> Iterator[p.Item]:
        heads, *rest = [child for child in parsed.children if isinstance(child, Tree) and child.data != "plan"]
        atoms = tuple(self._atom(atom, self.span(atom)) for atom in trees(heads, "atom"))
        body = self.formula(rest[0]) if rest else None
        self._check_plan(parsed)
        yield p.Clause(atoms, body, span=self.span(parsed))

    def _subsumption(self, parsed: Parsed) -> Iterator[p.Item]:
        lesser, greater, body = [child for child in parsed.children if isinstance(child, Tree) and child.data != "plan"]
        atoms = self._atom(lesser, self.span(lesser)), self._atom(greater, self.span(greater))
        yield p.Subsumption(*atoms, self.formula(body), span=self.span(parsed))

    def _pragma(self, parsed: Parsed) -> Iterator[p.Item]:
        key: Token = tokens(parsed)[0]
        name = self.string_value(key)
        if name in RELATION_PRAGMAS:
            yield from self._about_relations(parsed, name)
        elif name in SETTINGS:
            yield self._setting(parsed, name)
        elif name not in PRAGMAS:
            message = f'the pragma "{name}" is not supported'
            hint = (
                _ELSEWHERE.get(name)
                or did_you_mean(name, (*PRAGMAS, *RELATION_PRAGMAS, *SETTINGS))
                or "remove the line"
            )
            self.report(key, message, hint)

    def _setting(self, parsed: Parsed, name: str) -> p.Item:
        """Build a pragma such as `.pragma "word-size" "32"`."""
        key, *rest = tokens(parsed)
        value = ",".join(self.string_value(token) for token in rest)
        if value not in SETTINGS[name]:
            ways = " or ".join(
                f'`.pragma "{name}" "{known}"`' if known else f'`.pragma "{name}"`' for known in SETTINGS[name]
            )
            self.report(rest[0] if rest else key, f'the pragma "{name}" cannot be "{value}"', f"write {ways}")
        return p.Pragma(name, value, span=self.span(key))

    def _about_relations(self, parsed: Parsed, kind: str) -> Iterator[p.Item]:
        """Build a directive for each relation of a pragma such as `.pragma "hidden" "r,s"`; `*` means all relations."""
        key, *rest = tokens(parsed)
        if not rest:
            self.report(key, "this pragma names relations", f'write `.pragma "{kind}" "helper"`')
        for token in rest:
            for name in self.string_value(token).split(","):
                yield p.DirectiveItem(kind, name.strip(), (), span=self.span(token))

    def _component(self, parsed: Parsed) -> Iterator[p.Item]:
        itself, *bases = trees(parsed, "component_type")
        name, *parameters = tokens(itself)
        statements = [child for child in parsed.children if isinstance(child, Tree) and child.data != "component_type"]
        yield p.ComponentDeclaration(
            self.name(name),
            tuple(map(self.name, parameters)),
            tuple(self._component_name(base) for base in bases),
            tuple(item for child in statements for item in self._items(child)),
            span=self.span(name),
        )

    def _component_name(self, parsed: Parsed) -> p.ComponentName:
        name, *arguments = tokens(parsed)
        mentions = tuple(TypeName(self.qualified(token), span=self.span(token)) for token in arguments)
        return p.ComponentName(self.name(name), mentions, span=self.span(parsed))

    def _instance(self, parsed: Parsed) -> Iterator[p.Item]:
        (component,) = trees(parsed, "component_type")
        name = tokens(parsed)[0]
        yield p.ComponentInstance(self.name(name), self._component_name(component), span=self.span(name))

    def _override(self, parsed: Parsed) -> Iterator[p.Item]:
        (name,) = tokens(parsed)
        yield p.Override(self.name(name), span=self.span(name))
