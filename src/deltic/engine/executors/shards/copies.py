"""Chooses the relations of which every shard has a copy, so that rows that are joined with them need not move.

In a star schema, a large relation is joined with several small ones, each by another key. With keys alone its rows
would be sent to other shards once for each join, and be stored there to meet changes of the small side. With a copy of
the small relation neither is needed: its changes go to all shards instead. So a relation is copied if all its
copies together have no more rows than the relations that it is joined with: then a copy costs no more than one send.

Sizes are measured. The sizes of new views are bounded by those of their inputs. To get a copy, a relation must have at
most half of the size at which it loses the copy, so that it does not alternate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from deltic.program.definitions import Derived, FixedRows
from deltic.program.operators.aggregate import Grouped
from deltic.program.operators.over import TopRows
from deltic.program.program import Program, Relation

# The estimated bytes of a value in a copy: its place in the row and in some column orders, and part of a text.
_VALUE = 32
# The share of a task's memory for copies, as a divisor.
_PART = 8
SHARE = 8
"""Sizes are measured again once the changes are this part of all rows of tables, as a divisor."""


def small_relations(program: Program) -> frozenset[str]:
    """Return the relations that are always small: those without columns, constants, totals, and results of these."""
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
    """When to copy relations: if those that they are joined with have at least `least` rows, and memory allows."""

    limit: int | None = None
    """The most bytes of all copies on a shard; None for no limit."""
    least: int = 10_000

    @classmethod
    def within(cls, task_memory: int | None) -> Copies:
        """Return the choice for tasks with this much memory, in bytes; None for no limit."""
        return cls(None if task_memory is None else task_memory // _PART)

    def chosen(
        self, program: Program, rows: Mapping[str, int], shards: int, copied: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the relations to copy, with the reason of each, for these numbers of rows; some are `copied` now.

        Unknown numbers of rows are bounded, as far as possible.
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
    """Decides when to choose copies again: after many changes since the last time."""

    copies: Copies
    since: int = 0
    """The rows that have arrived since."""
    many: int = 0
    """The rows that may arrive before sizes are measured again."""

    def is_due(self, coming: int) -> bool:
        """Return whether it is time to choose again when `coming` more rows arrive."""
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
        """Return the relations to copy when these numbers of rows are `coming` to tables; some are `copied` now.

        `there` returns the present number of rows of a relation that is `kept`.
        """
        self.since, self.many = 0, self.copies.least // SHARE
        tables = {name: there(name) + coming.get(name, 0) for name in program.tables.values()}
        total = sum(tables.values())
        rows = {name: there(name) for name in kept} if sum(coming.values()) <= total // SHARE else {}
        self.many = max(self.copies.least, total) // SHARE
        return self.copies.chosen(program, rows | tables, shards, copied)


def _joined(program: Program, rows: Mapping[str, int]) -> dict[str, set[str]]:
    """Return the relations that could be copied, each with the relations of known size that are joined with it."""
    result: dict[str, set[str]] = {}
    for rule in program.rules:
        large = {atom.relation for atom in rule.body.atoms if atom.relation in rows}
        for name in set(rule.relations) - program.recursive:
            if others := large - {name}:
                result.setdefault(name, set()).update(others)
    return result


def _bounded(program: Program, rows: Mapping[str, int]) -> dict[str, float]:
    """Return an upper bound of the rows of each relation: the known number, or a bound from its inputs."""
    sizes: dict[str, float] = {}
    for stratum in program.strata:
        for name in stratum.relations:
            known = rows.get(name)
            sizes[name] = _bound(program, program.relations[name], sizes) if known is None else known
    return sizes


def _bound(program: Program, relation: Relation, sizes: Mapping[str, float]) -> float:
    """Return an upper bound of the rows of a relation, from the bounds of its inputs."""
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
    """Yield an upper bound of the rows that each rule of a relation derives."""
    for rule in program.rules_of(name):
        factors = [sizes[atom.relation] for atom in rule.body.atoms]
        yield math.prod(factors) if all(factors) else 0
