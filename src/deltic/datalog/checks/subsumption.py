"""Subsumption: `best(x, c) <= best(x, d) :- d <= c.` removes a row that another row of the relation dominates.

The relation becomes three: all derived rows, the dominated ones among them, and the others. So it is
maintained like any negation; rows that dominate each other are both removed. If the relation is recursive, each
iteration derives rows from those that the last one left, and leaves those that no row dominates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any

from deltic.catalog.components import components
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.expressions import SyntaxNode, Variable, Wildcard, nodes_in, transform
from deltic.datalog.syntax.formulas import BodyAtom, BodyComparison, BodyFormula, Conjunction, Negation
from deltic.datalog.syntax.program import Clause, Declaration, DirectiveItem, Item, Subsumption
from deltic.datalog.syntax.source import Span
from deltic.errors import did_you_mean


@dataclass(frozen=True)
class Subsumed:
    """The statements of a program with subsumptions rewritten to rules, and the helper relations."""

    items: list[Item]
    helpers: Mapping[str, tuple[str, str]]
    """For each relation with subsumption, the relations of all its rows and of the dominated ones."""


def subsume(items: Sequence[Item], findings: Findings) -> Subsumed:
    """Return the statements with subsumptions rewritten to rules; unsupported ones and choice domains are reported."""
    views = _Views(items, findings)
    views.check_choices()
    if not any(isinstance(item, Subsumption) for item in items):
        return Subsumed(list(items), {})
    dominations: dict[str, list[Subsumption]] = defaultdict(list)
    for item in items:
        if isinstance(item, Subsumption) and views.may_subsume(item):
            dominations[item.lesser.relation].append(item)
    plain = [_raw(item, dominations.keys()) for item in items if not isinstance(item, Subsumption)]
    recursive = views.recursive()
    rules = [
        rule for name, of in dominations.items() for rule in _dominated(views.declared[name], of, name in recursive)
    ]
    return Subsumed(plain + rules, {name: (_every(name), _gone(name)) for name in dominations})


class _Views:
    """The relations of a program, of which only views may leave out rows; misuse is reported."""

    def __init__(self, items: Sequence[Item], findings: Findings) -> None:
        self._items, self._findings = items, findings
        self.declared = {item.name: item for item in items if isinstance(item, Declaration)}
        self._inputs = {item.relation for item in items if isinstance(item, DirectiveItem) and item.kind == "input"}

    @cached_property
    def _graph(self) -> Mapping[str, list[str]]:
        """The relations that the rules and facts of each relation read."""
        graph: dict[str, list[str]] = defaultdict(list)
        for item in self._items:
            if isinstance(item, Clause):
                arguments = (argument for head in item.heads for argument in head.arguments)
                read = _read((*arguments, *([item.body] if item.body else [])))
                for head in item.heads:
                    graph[head.relation] += read
            elif isinstance(item, Subsumption):
                name = item.lesser.relation
                graph[name] += [read for read in _read([item.body]) if read != name]
        return graph

    def recursive(self) -> set[str]:
        """Return the relations that depend on themselves."""
        groups = components(self._graph)
        return {name for names in groups for name in names if len(names) > 1 or name in self._graph[name]}

    def check_choices(self) -> None:
        """Report choice domains of relations that are no views, and those of unknown attributes."""
        for declaration in (item for item in self._items if isinstance(item, Declaration) and item.choices):
            self._may_be_chosen(declaration, "choice-domain", declaration)
            names = [attribute.name for attribute in declaration.attributes]
            for name in (name for key in declaration.choices for name in key if name not in names):
                hint = did_you_mean(name, names) or f"its attributes are {', '.join(names)}"
                self._report(declaration.span, f"`{declaration.name}` has no attribute `{name}`", hint)

    def may_subsume(self, item: Subsumption) -> bool:
        """Return whether a subsumption is supported."""
        name, declaration = item.lesser.relation, self.declared.get(item.lesser.relation)
        if item.greater.relation != name:
            message = f"`{name}` cannot be subsumed by `{item.greater.relation}`"
            return self._report(item.span, message, "both sides of `<=` are rows of one relation")
        if declaration is None:
            return self._report(item.lesser.span, f"there is no relation `{name}`", did_you_mean(name, self.declared))
        if any(len(a.arguments) != len(declaration.attributes) for a in (item.lesser, item.greater)):
            message = f"`{name}` has {len(declaration.attributes)} attributes, and here another number"
            return self._report(item.span, message, f"it is declared at {declaration.span.place}")
        return self._may_be_chosen(item, "subsumption", declaration)

    def _may_be_chosen(self, place: SyntaxNode, what: str, declaration: Declaration) -> bool:
        """Return whether rows may be left out of a relation, because it is a view."""
        hint = "derive another relation from it, and declare that one so"
        if "eqrel" in declaration.qualifiers:
            message = f"{what} of an equivalence is not supported: it would be no equivalence without some of its rows"
            return self._report(place.span, message, hint)
        if declaration.name in self._inputs or declaration.name not in self._graph:
            message = f"{what} of a table is not supported: rows of `{declaration.name}` come from outside"
            return self._report(place.span, message, hint)
        if "inline" in declaration.qualifiers:
            return self._report(place.span, f"{what} of an inlined relation is not supported", "remove `inline`")
        return True

    def _report(self, span: Span, message: str, hint: str) -> bool:
        self._findings.append(span.error(message, hint))
        return False


def _dominated(declaration: Declaration, subsumptions: Sequence[Subsumption], is_recursive: bool) -> Iterator[Item]:
    """Yield the declarations of the relations of all rows and of dominated rows, and the rules."""
    name, span = declaration.name, declaration.span
    every, gone = _every(name), _gone(name)
    for helper in (every, gone):
        yield replace(declaration, name=helper, qualifiers=(), choices=())
        yield DirectiveItem("hidden", helper, (), span=span)
    for item in subsumptions:
        lesser, first = _named(item.lesser, "lesser", every)
        greater, second = _named(item.greater, "greater", every)
        given = zip(item.lesser.arguments, item.greater.arguments, strict=True)
        are_one = [isinstance(a, Variable) and isinstance(b, Variable) and a.name == b.name for a, b in given]
        pairs = [*compress(zip(lesser, greater, strict=True), [all(are_one) or not one for one in are_one])]
        same = [BodyComparison("=", a, b, span=item.span) for a, b in pairs]
        differ = Negation(_all(same, item), span=item.span)
        head = BodyAtom(gone, lesser, span=item.lesser.span)
        body = _among_all(item.body, name)
        yield Clause((head,), _all([*first, *second, differ, body], item), span=item.span)
    row = tuple(Variable(each.name, span=span) for each in declaration.attributes)
    left = Conjunction(
        (BodyAtom(every, row, span=span), Negation(BodyAtom(gone, row, span=span), span=span)), span=span
    )
    yield Clause((BodyAtom(name, row, span=span),), left, span=span)
    if is_recursive:
        yield Clause((BodyAtom(every, row, span=span),), BodyAtom(name, row, span=span), span=span)


def _among_all(body: BodyFormula, name: str) -> BodyFormula:
    """Return the condition of a subsumption, reading all rows of the relation."""

    def change(node: Any) -> Any:
        is_one = isinstance(node, BodyAtom) and node.relation == name
        return replace(node, relation=_every(name)) if is_one else node

    return transform(body, change)


def _named(atom: BodyAtom, prefix: str, relation: str) -> tuple[tuple[Variable, ...], list[BodyFormula]]:
    """Variables for the attributes of a row, and the literals that match the row with the atom."""
    row = tuple(Variable(f"{prefix}.{place}", span=a.span) for place, a in enumerate(atom.arguments))
    equations: list[BodyFormula] = [
        BodyComparison("=", argument, variable, span=argument.span)
        for argument, variable in zip(atom.arguments, row, strict=True)
        if not isinstance(argument, Wildcard)
    ]
    return row, [replace(atom, relation=relation, arguments=row), *equations]


def _all(parts: Sequence[BodyFormula], item: Subsumption) -> BodyFormula:
    return parts[0] if len(parts) == 1 else Conjunction(tuple(parts), span=item.span)


def _raw(item: Item, names: Collection[str]) -> Item:
    """Return a clause that derives all rows of the relation, before subsumption."""
    if not isinstance(item, Clause) or not any(head.relation in names for head in item.heads):
        return item
    return replace(
        item, heads=tuple(replace(a, relation=_every(a.relation)) if a.relation in names else a for a in item.heads)
    )


def _every(name: str) -> str:
    return f"{name}.all"


def _gone(name: str) -> str:
    return f"{name}.dominated"


def _read(parts: Iterable[SyntaxNode]) -> list[str]:
    """Return the relations of all atoms in formulas and expressions."""
    return [node.relation for part in parts for node in nodes_in(part) if isinstance(node, BodyAtom)]
