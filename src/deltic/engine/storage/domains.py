"""The domains of a program: columns and variables that a query compares for equality share one.

An epoch is repeated for each domain without room: Growth makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import is_checked
from deltic.engine.storage.columns import Domain, DomainOverflow
from deltic.engine.storage.interner import Interner, is_interned
from deltic.engine.storage.state import State
from deltic.program.program import Program, Relation
from deltic.program.queries import Atom, Rule, Term, When
from deltic.values.types import Type, ValueType

# A column, (relation, index), or a variable, (rule, variable).
Item = tuple[Any, int]


@dataclass
class Domains:
    """The domains of a program. Each interned type has one domain, whose bits follow the number of its values."""

    columns: dict[str, tuple[Domain, ...]] = field(default_factory=dict)
    variables: dict[Rule, dict[int, Domain]] = field(default_factory=dict)
    interned: dict[Type, Domain] = field(default_factory=dict)
    all: list[Domain] = field(default_factory=list)

    def replacing(self, replaced: Mapping[Domain, Domain]) -> Domains:
        """Return the same domains, with these replaced."""
        if not replaced:
            return Domains(dict(self.columns), dict(self.variables))
        columns = {name: tuple(replaced.get(d, d) for d in own) for name, own in self.columns.items()}
        variables = {rule: {v: replaced.get(d, d) for v, d in own.items()} for rule, own in self.variables.items()}
        return Domains(columns, variables)

    def include_ids(self, interner: Interner) -> None:
        """Make room for all interned values."""
        for type_, domain in self.interned.items():
            if len(interner[type_]):
                domain.include(0, len(interner[type_]) - 1)


def assign_domains(
    program: Program,
    value_of: Callable[[exp.Expression], int],
    known: Mapping[str, tuple[Domain, ...]],
    settled: Domains,
) -> tuple[Domains, list[tuple[Domain, Domain]]]:
    """Return the domains of all columns and variables. They have room for the program's literals and constants.

    A domain is nullable if any of its columns or variables is. `known` are the domains of relations that exist already,
    `settled` those of interned types, and of the relations and rules that another program had with the same inputs.
    Also returned are the pairs of known domains that the program compares: the caller must unify each pair, so that the
    first replaces the second. The first is the widest, whose rows are likely to stay as they are packed.
    """
    rules = [rule for rule in program.rules if rule not in settled.variables]
    relations = {name: relation for name, relation in program.relations.items() if name not in settled.columns}
    union, touched = _Union(), set(relations)
    for a, b in _equal(rules, relations):
        union.join(a, b)
        touched |= {a[0], b[0]} if isinstance(b[0], str) else {a[0]}
    ids, made = dict(settled.interned), dict[Item, Domain]()
    there = ((name, columns) for name, columns in known.items() if name in touched)
    items = [(d, (name, i)) for name, columns in there for i, d in enumerate(columns) if d not in ids.values()]
    items.sort(key=lambda each: -each[0].bits)
    first = dict(reversed(items))
    for domain, item in items:
        union.join(first[domain], item)
    joined = {domain: made.setdefault(union.find(item), domain) for domain, item in items}
    pairs = [(kept, domain) for domain, kept in joined.items() if domain is not kept]

    def domain_of(item: Item, value: ValueType, make: Callable[[Type], Domain]) -> Domain:
        if is_interned(value.type):
            domain = ids.setdefault(value.type, Domain(value.type, empty=False))  # ids start at 0
        else:
            domain = made.setdefault(union.find(item), make(value.type))
        if value.nullable:
            domain.admit_null()
        return domain

    domains = settled.replacing({domain: kept for kept, domain in pairs})
    for name, relation in relations.items():
        domains.columns[name] = tuple(domain_of((name, i), c.value_type, Domain) for i, c in enumerate(relation.schema))
    for rule in rules:
        types = rule.body.types
        domains.variables[rule] = {v: domain_of((rule, v), value, Domain.all) for v, value in types.items()}
    for relation_name, index, literal in _literals(rules):
        held = value_of(literal)
        domains.columns[relation_name][index].include(held, held)
    domains.interned = ids
    columns, variables = domains.columns.values(), domains.variables.values()
    domains.all = list(dict.fromkeys(chain(ids.values(), *columns, *(each.values() for each in variables))))
    return domains, pairs


def _equal(rules: Iterable[Rule], relations: Mapping[str, Relation]) -> Iterator[tuple[Item, Item]]:
    """Yield the pairs of columns and variables that hold the same values, in these rules and definitions."""
    for rule in rules:
        for atom in (*rule.body.atoms, *rule.body.absent, _head(rule.head, rule.terms)):
            for index, term in enumerate(atom.terms):
                if isinstance(term, int):
                    yield (atom.relation, index), (rule, term)
    for name, relation in relations.items():
        for index, source, column in relation.definition.shared(len(relation.schema)):
            yield (name, index), (source, column)


def _head(name: str, terms: tuple[Term, ...]) -> Atom:
    return Atom(name, When.DELTA, terms)


def _literals(rules: Iterable[Rule]) -> Iterator[tuple[str, int, exp.Expression]]:
    """Yield the constants in columns, each with its column. Constants that may raise an error in a row are left out."""
    for rule in rules:
        atoms: Iterable[Atom] = (*rule.body.atoms, *rule.body.absent, _head(rule.head, rule.terms))
        for atom in atoms:
            for index, term in enumerate(atom.terms):
                if isinstance(term, exp.Expression) and not (is_checked(term) or any(term.find_all(exp.Column))):
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


_ALL = 64
# Wider rows of smaller relations cost less than one more growth, after which all queries that read them are bound.
_FEW = 1 << 12


class Growth:
    """The domains that had to grow in one epoch, in this order.

    A domain that grows again probably belongs to a recursion that counts. It gets room for more values, and so do the
    domains that grew in between, because they belong to the same recursion, where one value leads to the next.
    """

    def __init__(self) -> None:
        self._grown: list[Domain] = []

    def make_room(self, overflow: DomainOverflow, relations: Sequence[State] = ()) -> None:
        """Make room for a value of relations that had none. If these have rows, but few, there is room for more
        values.
        """
        domain, together = overflow.domain, [overflow.domain]
        if domain in self._grown:
            time, (least, greatest) = self._grown.count(domain), domain.range()
            is_below, is_above = overflow.low < least, overflow.high > greatest
            domain.extend_amply(overflow.low, overflow.high, time)
            for other in self._since(domain) if is_below or is_above else ():
                low, high = other.range()
                other.extend_amply(low - is_below, high + is_above, time)
                together.append(other)
        elif relations and not domain.empty and all(0 < len(state.contents) < _FEW for state in relations):
            domain.extend_amply(overflow.low, overflow.high, 1)
        else:
            domain.extend(overflow.low, overflow.high)
        self._grown += together

    def _since(self, domain: Domain) -> list[Domain]:
        """Return the domains that grew after a domain's last growth, except labels and domains of full width."""
        last = len(self._grown) - self._grown[::-1].index(domain)
        return [other for other in dict.fromkeys(self._grown[last:]) if type(other) is Domain and other.bits < _ALL]
