"""Of which relations every shard has a copy, so that what is joined with them stays where it is.

In a star a large relation is joined with several small ones, each by another key. By keys alone its rows would cross
from shard to shard once for each of them, and be kept once for each, to meet changes of the small side. Beside a copy
they do neither: the small side's changes go to all shards instead. So a relation is copied that has so few rows that
all its copies together are no more than what it is joined with; then a copy costs no more than one crossing would.

Sizes are measured, and those of views that are not there yet are bounded by those of what they are made of. A relation
gets its copy at half of what it may keep it with, so that it does not go back and forth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from deltic.program.definitions import Derived, FixedRows
from deltic.program.operators.aggregate import Grouped
from deltic.program.operators.top import TopRows
from deltic.program.program import Program, Relation

# The bytes that a value of a copy is taken for: its place in the row and in some column orders, and some of a text.
_VALUE = 32
# The part of a task's memory that copies have, as a divisor.
_PART = 8
SHARE = 8
"""Sizes are measured again once the changes are this part of all rows of tables, as a divisor."""


def small_relations(program: Program) -> frozenset[str]:
    """The relations that have few rows whatever happens: of no columns, constants, totals, and their results."""
    small: set[str] = set()
    for stratum in program.strata:
        for name in stratum.relations:
            relation, rules = program.relations[name], program.rules_of(name)
            definition = relation.definition
            few = isinstance(definition, FixedRows) or (isinstance(definition, Grouped) and not definition.keys)
            made = isinstance(definition, Derived) and name not in program.recursive
            if few or not len(relation.schema) or (made and all(small.issuperset(r.relations) for r in rules)):
                small.add(name)
    return frozenset(small)


@dataclass(frozen=True)
class Copies:
    """When relations are copied: where what they are joined with has `least` rows or more, and within a limit."""

    limit: int | None = None
    """The bytes that all copies on a shard may have together; None for any number."""
    least: int = 10_000

    @classmethod
    def within(cls, task_memory: int | None) -> Copies:
        """Those for which there is room where a task is to hold so many bytes; None for any number."""
        return cls(None if task_memory is None else task_memory // _PART)

    def chosen(
        self, program: Program, rows: Mapping[str, int], shards: int, copied: Mapping[str, str]
    ) -> dict[str, str]:
        """The relations to be copied, each with the reason, of those that have so many rows; some are `copied` now.

        Rows of relations that are not told are bounded, as far as they can be.
        """
        sizes, large, held = _bounded(program, rows), _joined(program, rows), 0.0
        result: dict[str, str] = {}
        for name in sorted(large.keys() - small_relations(program), key=lambda name: (sizes[name], name)):
            margin = 1 if name in copied else 2
            beside = max(large[name], key=lambda other: (rows[other], other))
            wanted = margin * sizes[name] * _VALUE * len(program.relations[name].schema)
            is_within = self.limit is None or held + wanted <= self.limit
            if is_within and margin * shards * sizes[name] <= rows[beside] >= self.least:
                held += wanted / margin
                result[name] = f"at most {sizes[name]:,.0f} rows, joined with {rows[beside]:,} of {beside}"
        return result


@dataclass
class Survey:
    """When the choice of copies is measured again: after many changes since the last time."""

    copies: Copies
    since: int = 0
    """How many rows have come since."""
    many: int = 0
    """How many may come."""

    def is_due(self, coming: int) -> bool:
        """Whether it is time to measure again when so many rows come."""
        self.since += coming
        return self.since > self.many

    def chosen(
        self,
        program: Program,
        coming: Mapping[str, int],
        there: Callable[[str], int],
        kept: Collection[str],
        shards: int,
        copied: Mapping[str, str],
    ) -> Mapping[str, str]:
        """The relations to be copied when so many rows are `coming` to tables, where some are `copied` now.

        So many rows are `there` of those that are `kept`.
        """
        self.since, self.many = 0, self.copies.least // SHARE
        tables = {name: there(name) + coming.get(name, 0) for name in program.tables.values()}
        total = sum(tables.values())
        rows = {name: there(name) for name in kept} if sum(coming.values()) <= total // SHARE else {}
        self.many = max(self.copies.least, total) // SHARE
        return self.copies.chosen(program, rows | tables, shards, copied)


def _joined(program: Program, rows: Mapping[str, int]) -> dict[str, set[str]]:
    """The relations that could be copied, each with those that are joined with it and have so many rows."""
    result: dict[str, set[str]] = {}
    for rule in program.rules:
        large = {atom.relation for atom in rule.body.atoms if atom.relation in rows}
        for name in set(rule.relations) - program.recursive:
            if others := large - {name}:
                result.setdefault(name, set()).update(others)
    return result


def _bounded(program: Program, rows: Mapping[str, int]) -> dict[str, float]:
    """How many rows each relation has at the most: those that are told, and what can be made of these."""
    sizes: dict[str, float] = {}
    for stratum in program.strata:
        for name in stratum.relations:
            known = rows.get(name)
            sizes[name] = _bound(program, program.relations[name], sizes) if known is None else known
    return sizes


def _bound(program: Program, relation: Relation, sizes: Mapping[str, float]) -> float:
    """How many rows a relation has at the most that is made of others."""
    match relation.definition:
        case FixedRows(rows=rows):
            return len(rows)
        case Grouped(keys=0):
            return 1
        case Grouped() | TopRows() as kept:
            return sizes[kept.sources[0]]
        case Derived() if relation.name not in program.recursive:
            return sum(_products(program, relation.name, sizes))
    return math.inf


def _products(program: Program, name: str, sizes: Mapping[str, float]) -> Iterator[float]:
    """How many rows each rule of a relation gives at the most."""
    for rule in program.rules_of(name):
        factors = [sizes[atom.relation] for atom in rule.body.atoms]
        yield math.prod(factors) if all(factors) else 0
