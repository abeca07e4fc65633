"""Which columns and variables share a domain: those that some query compares for equality by their bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from deltic.circuit.types import Type
from deltic.engine.local.storage.layout import Domain
from deltic.program.program import Program
from deltic.program.queries import Atom, Rule, Term, When

# What stands for a column, (relation, index), or a variable, (rule, variable).
Item = tuple[Any, int]


@dataclass
class Domains:
    """The domains of a program; all text shares one, whose bits follow the number of interned texts."""

    columns: dict[str, tuple[Domain, ...]] = field(default_factory=dict)
    variables: dict[Rule, dict[int, Domain]] = field(default_factory=dict)
    text: Domain = field(default_factory=lambda: Domain(Type.STRING, 0, 1, empty=False))
    all: list[Domain] = field(default_factory=list)

    def growth(self) -> int:
        """How often any domain has grown so far."""
        return sum(domain.growth for domain in self.all)


def assign_domains(
    program: Program,
    value_of: Callable[[exp.Expression], int],
    known: Mapping[str, tuple[Domain, ...]],
    text: Domain,
) -> tuple[Domains, list[tuple[Domain, Domain]]]:
    """The domains of all columns and variables; those of literals and constants have room for them.

    `known` are those of relations that are there already, `text` that of all text. Where the program compares two known
    ones, the first stands for both: the pairs are what has to be unified so.
    """
    union = _Union()
    for a, b in _equal(program):
        union.join(a, b)
    domains = Domains(text=text)
    made: dict[Item, Domain] = {}
    items = [(d, (name, i)) for name, columns in known.items() for i, d in enumerate(columns) if d is not text]
    first = dict(reversed(items))
    for domain, item in items:
        union.join(first[domain], item)
    joined = {domain: made.setdefault(union.find(item), domain) for domain, item in items}
    for name, relation in program.relations.items():
        made_for = [_domain(domains, made, union.find((name, i)), c.type) for i, c in enumerate(relation.schema)]
        domains.columns[name] = tuple(made_for)
    for rule in program.rules:
        types = rule.body.types
        found = {v: _variable_domain(domains, made, union.find((rule, v)), t) for v, t in types.items()}
        domains.variables[rule] = found
    for relation_name, index, literal in _literals(program):
        value = value_of(literal)
        domain = domains.columns[relation_name][index]
        domain.include(value, value)
    domains.all = [domains.text, *dict.fromkeys(made.values())]
    return domains, [(kept, domain) for domain, kept in joined.items() if domain is not kept]


def _equal(program: Program) -> Iterator[tuple[Item, Item]]:
    """Columns and variables that hold the same values."""
    for rule in program.rules:
        for atom in (*rule.body.atoms, *rule.body.absent, _head(rule.head, rule.terms)):
            for index, term in enumerate(atom.terms):
                if isinstance(term, int):
                    yield (atom.relation, index), (rule, term)
    for name, relation in program.relations.items():
        for index, source, column in relation.definition.shared(len(relation.schema)):
            yield (name, index), (source, column)


def _head(name: str, terms: tuple[Term, ...]) -> Atom:
    return Atom(name, When.DELTA, terms)


def _domain(domains: Domains, made: dict[Item, Domain], root: Item, type_: Type) -> Domain:
    if type_ is Type.STRING:
        return domains.text
    return made.setdefault(root, Domain(type_))


def _variable_domain(domains: Domains, made: dict[Item, Domain], root: Item, type_: Type) -> Domain:
    """The domain of a variable's columns; one that stands in no column gets all 64 bits."""
    if type_ is Type.STRING:
        return domains.text
    return made.get(root) or Domain.all(type_)


def _literals(program: Program) -> Iterator[tuple[str, int, exp.Expression]]:
    """The literals that stand for a column's value, with the column."""
    for rule in program.rules:
        atoms: Iterable[Atom] = (*rule.body.atoms, *rule.body.absent, _head(rule.head, rule.terms))
        for atom in atoms:
            for index, term in enumerate(atom.terms):
                if isinstance(term, exp.Expression) and not any(term.find_all(exp.Column)):
                    yield atom.relation, index, term


class _Union:
    """Union-find over items."""

    def __init__(self) -> None:
        self._parent: dict[Item, Item] = {}

    def find(self, item: Item) -> Item:
        root = item
        while (parent := self._parent.get(root, root)) != root:
            root = parent
        while self._parent.get(item, item) != root:
            self._parent[item], item = root, self._parent.get(item, item)
        return root

    def join(self, a: Item, b: Item) -> None:
        self._parent[self.find(a)] = self.find(b)
