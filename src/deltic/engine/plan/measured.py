"""The numbers that planning asks for, counted in columns of relations, or in samples of their joins.

A join of several tables is sampled by one table after the other: of the pairs of sampled rows and rows of the next
table that agree in a column, some are drawn at random, every pair as likely as any other, so that hubs count with all
that they have. What the sample stands for is known at each step, since a column's values are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from deltic.calculus.planning.statistics import Origin, Table
from deltic.circuit.expressions import show
from deltic.engine.plan.frequencies import Counts, Frequencies, Values

# Rows that are drawn of a join.
_DRAWN = 1 << 14
# Rows of a join that is sampled by values of a column: as expected, and at most; and the values, at least.
_SAMPLE, _MOST, _VALUES = 1 << 13, 1 << 18, 8
# Of rows that are tried so many have to meet a condition for their part to tell what it is of all.
_TELLING = 8


class Relations(Protocol):
    """What is looked at, by what statistics call relations."""

    def columns(self, name: str) -> Sequence[Values]:
        """The columns of a relation, NULL as some value."""

    def passing(self, name: str, conditions: Sequence[exp.Expression]) -> tuple[int, int]:
        """Of how many of its rows all conditions are true, and of how many that was asked: all, or some at random."""


class MeasuredQuestion(NamedTuple):
    """What was asked about some relations."""

    relations: frozenset[str]
    asked: object


@dataclass(frozen=True)
class _Rows:
    """So many rows, with the values of variables in them; there may be none of which the join knows any."""

    count: int
    values: dict[str, Values]


@dataclass(frozen=True)
class _Sample:
    """Rows drawn from a join, each of which stands for so many."""

    rows: _Rows
    weight: float


@dataclass(frozen=True)
class _Matches:
    """For each of some rows a range of rows of a table that agree with it in a column, by their places in `order`."""

    starts: Counts
    counts: Counts
    order: Counts

    def all(self) -> tuple[Counts, Counts]:
        """All pairs: the places of the rows, and those of the table's."""
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        return rows, self.order[self.starts[rows] + within]

    def drawn(self, count: int, seed: int) -> tuple[Counts, Counts]:
        """So many pairs, drawn at random: the same each time, others for other seeds."""
        ends = np.cumsum(self.counts)
        picks = np.sort(np.random.default_rng(seed).integers(0, ends[-1], count))
        rows = np.searchsorted(ends, picks, side="right")
        return rows, self.order[self.starts[rows] + picks - (ends - self.counts)[rows]]


class Measured:
    """The statistics of relations, found out when they are asked for; `numbers` are those that were.

    `unknown` are the relations whose number of rows was asked for in vain.
    """

    def __init__(self, sizes: Mapping[str, int], relations: Relations, numbers: dict[MeasuredQuestion, float]) -> None:
        self.sizes, self.numbers, self.unknown = sizes, numbers, set[str]()
        self._relations = relations
        self._held: dict[str, Sequence[Values]] = {}
        self._found: dict[Origin, Frequencies] = {}
        self._samples: dict[object, _Sample] = {}

    def rows(self, relation: str) -> float | None:
        """How many rows it has; None for what is neither a table nor a recursive relation that has rows."""
        if relation not in self.sizes:
            self.unknown.add(relation)
        return self.sizes.get(relation)

    def distinct(self, relation: str, columns: Sequence[int]) -> float:
        """How many different rows these columns have."""
        key = MeasuredQuestion(frozenset({relation}), tuple(columns))
        if key not in self.numbers:
            self.numbers[key] = self._distinct(relation, columns)
        return self.numbers[key]

    def meeting(self, one: Origin, other: Origin) -> float:
        """How many pairs of rows have equal values in these columns."""
        key = MeasuredQuestion(frozenset({one[0], other[0]}), (one, other))
        if key not in self.numbers:
            self.numbers[key] = self._frequencies(one).meeting(self._frequencies(other))
        return self.numbers[key]

    def passing(self, relation: str, conditions: Sequence[exp.Expression], guess: float) -> float:
        """What part of its rows meets conditions over columns by `place_name`; of many rows by a sample.

        Where few of the sample do, it is what was guessed, but not much more than there were.
        """
        key = MeasuredQuestion(frozenset({relation}), ("passing", *map(show, conditions)))
        if key not in self.numbers:
            met, tried = self._relations.passing(relation, conditions)
            is_told = met >= _TELLING or (met and tried == self._count(relation))
            self.numbers[key] = met / tried if is_told else min(guess, _TELLING / max(tried, _TELLING))
        return self.numbers[key]

    def joined(self, tables: Sequence[Table]) -> float:
        """How many rows the join of tables has, joined in this order, by a sample."""
        key = MeasuredQuestion(frozenset(name for name, _ in tables), ("joined", _plain(tables)))
        if key not in self.numbers:
            sample = self._sample(tables)
            self.numbers[key] = sample.weight * sample.rows.count
        return self.numbers[key]

    def sampled(self, tables: Sequence[Table], kept: Sequence[str], rows: float) -> float | None:
        """How many different rows of these variables the join of tables has; None where the sample grows too large."""
        joined = tuple((name, *sorted(columns.items())) for name, columns in tables)
        key = MeasuredQuestion(frozenset(name for name, _ in tables), (joined, tuple(kept)))
        if key not in self.numbers:
            self.numbers[key] = self._sampled(list(tables), kept, max(1, int(rows) // _SAMPLE))
        return None if self.numbers[key] < 0 else self.numbers[key]

    def _sampled(self, tables: list[Table], kept: Sequence[str], part: int) -> float:
        """By the join of the rows with some values of the first variable that is kept; -1 where it grows too large."""
        start = next(table for table in tables if kept[0] in table[1])
        frequencies = self._frequencies((start[0], start[1][kept[0]]))
        values = frequencies.values[frequencies.counts > 0]
        count = min(len(values), max(_VALUES, len(values) // part))
        _, chosen = _Matches(*frequencies.of(values[np.argsort(_mixed([values]))[:count]]), frequencies.order).all()
        result = _at(self._whole(start), chosen)
        tables.remove(start)
        while tables:
            near = next((table for table in tables if result.values.keys() & table[1].keys()), None)
            matches = None if near is None else self._matches(result, near)
            if near is None or matches is None or matches.counts.sum() > _MOST:
                return -1.0
            result = self._pairs(result, near, *matches.all())
            tables.remove(near)
        return len(values) / max(1, count) * _different(_mixed([result.values[v] for v in kept]))

    def _sample(self, tables: Sequence[Table]) -> _Sample:
        """Rows of the join of tables."""
        key = tuple((name, tuple(columns.items())) for name, columns in tables)
        if key not in self._samples:
            *others, last = tables
            seed = len(others)
            self._samples[key] = self._extended(self._sample(others), last, seed) if others else self._first(last)
        return self._samples[key]

    def _first(self, table: Table) -> _Sample:
        rows = self._whole(table)
        if rows.count <= _DRAWN:
            return _Sample(rows, 1.0)
        drawn = np.random.default_rng(0).integers(0, rows.count, _DRAWN)
        return _Sample(_at(rows, drawn), rows.count / _DRAWN)

    def _extended(self, sample: _Sample, table: Table, seed: int) -> _Sample:
        """The sample joined with one table more; draws of different seeds are independent of one another."""
        matches = self._matches(sample.rows, table)
        pairs = int(matches.counts.sum())
        if pairs <= _DRAWN:
            return _Sample(self._pairs(sample.rows, table, *matches.all()), sample.weight)
        rows = self._pairs(sample.rows, table, *matches.drawn(_DRAWN, seed))
        return _Sample(rows, sample.weight * pairs / _DRAWN)

    def _matches(self, rows: _Rows, table: Table) -> _Matches:
        """The rows of a table that agree with these in the first column that they share; all, where they share none."""
        relation, columns = table
        variable = next((v for v in columns if v in rows.values), None)
        if variable is None:
            others = self._count(relation)
            return _Matches(np.zeros(rows.count, np.int64), np.full(rows.count, others), np.arange(others))
        frequencies = self._frequencies((relation, columns[variable]))
        return _Matches(*frequencies.of(rows.values[variable]), frequencies.order)

    def _pairs(self, rows: _Rows, table: Table, at: Counts, matches: Counts) -> _Rows:
        """The rows at these places beside the table's, where they agree in all variables that they share."""
        relation, columns = table
        held = self._table(relation)
        beside = {v: held[column][matches] for v, column in columns.items()}
        own = {v: values[at] for v, values in rows.values.items()}
        equal = np.ones(len(at), np.bool_)
        for variable in own.keys() & beside.keys():
            equal &= own[variable] == beside[variable]
        return _Rows(int(np.count_nonzero(equal)), {v: values[equal] for v, values in (beside | own).items()})

    def _distinct(self, relation: str, columns: Sequence[int]) -> float:
        if not columns:
            return float(min(1, self.sizes[relation]))
        if len(columns) == 1:
            return float(self._frequencies((relation, columns[0])).distinct)
        return float(_different(_mixed([self._table(relation)[index] for index in columns])))

    def _frequencies(self, origin: Origin) -> Frequencies:
        if origin not in self._found:
            self._found[origin] = Frequencies(self._table(origin[0])[origin[1]])
        return self._found[origin]

    def _whole(self, table: Table) -> _Rows:
        relation, columns = table
        return _Rows(self._count(relation), {v: self._table(relation)[column] for v, column in columns.items()})

    def _count(self, relation: str) -> int:
        """How many rows there are to look at."""
        columns = self._table(relation)
        return len(columns[0]) if columns else min(1, self.sizes[relation])

    def _table(self, relation: str) -> Sequence[Values]:
        if relation not in self._held:
            self._held[relation] = self._relations.columns(relation)
        return self._held[relation]


def _at(rows: _Rows, places: Counts) -> _Rows:
    """The rows at these places."""
    return _Rows(len(places), {v: values[places] for v, values in rows.values.items()})


def _plain(tables: Sequence[Table]) -> tuple[object, ...]:
    """The tables with their variables numbered as they appear, so that equal joins are told alike."""
    numbers: dict[str, int] = {}
    return tuple(
        (name, tuple((column, numbers.setdefault(v, len(numbers))) for v, column in columns.items()))
        for name, columns in tables
    )


def _mixed(columns: Sequence[Values]) -> npt.NDArray[np.uint64]:
    """A hash of each row."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for values in columns:
        mixed = (mixed ^ values.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _different(hashes: npt.NDArray[np.uint64]) -> int:
    """How many different ones there are; sorts them."""
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + min(1, len(hashes))
