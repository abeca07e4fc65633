"""Statistics for the planner, counted in the columns of relations or in samples of their joins.

A join of several tables is sampled one table at a time. From all pairs of a sampled row and a row of the next table
that agree in a column, some are drawn at random, each with the same probability. So a frequent value counts in
proportion to its rows. Each sample knows how many rows of the join one of its rows stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from deltic.calculus.planning.statistics import Origin, Table
from deltic.circuit.expressions import show
from deltic.engine.storage.run import are_new, ranges_of

Values = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

# The range of values is counted densely if it has at most this many times as many numbers as the column has rows.
_DENSE = 4


class Frequencies:
    """`values` in ascending order, with the number of rows of each in `counts`, which may be 0 in a dense range."""

    def __init__(self, column: Values) -> None:
        self._column = column
        self._low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
        self._width = high - self._low
        self._is_dense = self._width < _DENSE * column.size
        if self._is_dense:
            self.counts = np.bincount(column - self._low)
            self.values = np.arange(self._low, high + 1)
        else:
            self.values, self.counts = np.unique(column, return_counts=True)

    @property
    def distinct(self) -> int:
        """Return the number of distinct values."""
        return int(np.count_nonzero(self.counts))

    def meeting(self, other: Frequencies) -> float:
        """Return the number of pairs of rows of both columns with equal values."""
        counts = other.of(self.values)[1]
        return float((self.counts.astype(np.float64) * counts).sum())

    def of(self, keys: Values) -> tuple[Counts, Counts]:
        """Return, for each key, the position in `order` where its rows start, and their number."""
        if not len(self.values):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        last = len(self.values) - 1
        if self._is_dense:
            places = np.clip(keys, self._low, self._low + last) - self._low
        else:
            places = np.minimum(np.searchsorted(self.values, keys), last)
        return self._starts[places], np.where(self.values[places] == keys, self.counts[places], 0)

    @cached_property
    def _starts(self) -> Counts:
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def order(self) -> Counts:
        """The positions of the rows, in ascending order of their values."""
        bits = len(self._column).bit_length()
        if self._width.bit_length() + bits > 63:
            return np.argsort(self._column, kind="stable")
        # Values and places fit into one integer, which is sorted much faster than places are by their values.
        both = (self._column - self._low) << bits | np.arange(len(self._column))
        both.sort()
        return both & ((1 << bits) - 1)


# The number of rows to draw from a join.
_DRAWN = 1 << 14
# A join sampled by the values of a column: its expected rows, its rows at most, the values at least.
_SAMPLE, _MOST, _VALUES = 1 << 13, 1 << 18, 8
# The number of sampled rows that must meet a condition before their share is taken as its selectivity.
_TELLING = 8


class Relations(Protocol):
    """The relations that are measured, by the names that the statistics use."""

    def columns(self, name: str) -> Sequence[Values]:
        """Return the columns of a relation; NULL is some value."""

    def passing(self, name: str, conditions: Sequence[exp.Expression]) -> tuple[int, int]:
        """Return how many of the tested rows meet all conditions, and how many rows were tested: all, or a random
        sample.
        """


class MeasuredQuestion(NamedTuple):
    """A question about some relations, which identifies its answer."""

    relations: frozenset[str]
    asked: object


@dataclass(frozen=True)
class _Rows:
    """A number of rows, with the values of the variables that are known in them, if any."""

    count: int
    values: dict[str, Values]


@dataclass(frozen=True)
class _Sample:
    """Rows drawn from a join; each stands for `weight` rows of the join."""

    rows: _Rows
    weight: float


@dataclass(frozen=True)
class _Matches:
    """For each of some rows, the range of rows of a table that agree with it in a column, by their positions in
    `order`.
    """

    starts: Counts
    counts: Counts
    order: Counts

    def all(self) -> tuple[Counts, Counts]:
        """Return all pairs: the positions of the rows, and those of the table's rows."""
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        return rows, self.order[ranges_of(self.starts, self.counts)]

    def drawn(self, count: int, seed: int) -> tuple[Counts, Counts]:
        """Return `count` random pairs. The same seed draws the same pairs."""
        ends = np.cumsum(self.counts)
        picks = np.sort(np.random.default_rng(seed).integers(0, ends[-1], count))
        rows = np.searchsorted(ends, picks, side="right")
        return rows, self.order[self.starts[rows] + picks - (ends - self.counts)[rows]]


class Measured:
    """Statistics of relations, measured when first asked for. `numbers` are the answers so far.

    `unknown` are the relations whose number of rows was asked for but is not known.
    """

    def __init__(self, sizes: Mapping[str, int], relations: Relations, numbers: dict[MeasuredQuestion, float]) -> None:
        self.sizes, self.numbers, self.unknown = sizes, numbers, set[str]()
        self._relations = relations
        self._held: dict[str, Sequence[Values]] = {}
        self._found: dict[Origin, Frequencies] = {}
        self._samples: dict[object, _Sample] = {}

    def rows(self, relation: str) -> float | None:
        """Return its number of rows; None if it is neither a table nor a recursive relation with rows."""
        if relation not in self.sizes:
            self.unknown.add(relation)
        return self.sizes.get(relation)

    def distinct(self, relation: str, columns: Sequence[int]) -> float:
        """Return the number of distinct rows of these columns."""
        key = MeasuredQuestion(frozenset({relation}), tuple(columns))
        if key not in self.numbers:
            self.numbers[key] = self._distinct(relation, columns)
        return self.numbers[key]

    def meeting(self, one: Origin, other: Origin) -> float:
        """Return the number of pairs of rows with equal values in these two columns."""
        key = MeasuredQuestion(frozenset({one[0], other[0]}), (one, other))
        if key not in self.numbers:
            self.numbers[key] = self._frequencies(one).meeting(self._frequencies(other))
        return self.numbers[key]

    def passing(self, relation: str, conditions: Sequence[exp.Expression], guess: float) -> float:
        """Return the share of rows that meet conditions over columns by `place_name`; large relations are sampled.

        Where too few rows of the sample meet them, return the guess, but not much more than the sample allows.
        """
        key = MeasuredQuestion(frozenset({relation}), ("passing", *map(show, conditions)))
        if key not in self.numbers:
            met, tried = self._relations.passing(relation, conditions)
            is_enough = met >= _TELLING or (met and tried == self._count(relation))
            self.numbers[key] = met / tried if is_enough else min(guess, _TELLING / max(tried, _TELLING))
        return self.numbers[key]

    def joined(self, tables: Sequence[Table]) -> float:
        """Estimate the number of rows of the join of tables in this order, from a sample."""
        key = MeasuredQuestion(frozenset(name for name, _ in tables), ("joined", _plain(tables)))
        if key not in self.numbers:
            sample = self._sample(tables)
            self.numbers[key] = sample.weight * sample.rows.count
        return self.numbers[key]

    def sampled(self, tables: Sequence[Table], kept: Sequence[str], rows: float) -> float | None:
        """Estimate the number of distinct rows of these variables in the join of tables; None if the sample grows too
        large.
        """
        joined = tuple((name, *sorted(columns.items())) for name, columns in tables)
        key = MeasuredQuestion(frozenset(name for name, _ in tables), (joined, tuple(kept)))
        if key not in self.numbers:
            self.numbers[key] = self._sampled(list(tables), kept, max(1, int(rows) // _SAMPLE))
        return None if self.numbers[key] < 0 else self.numbers[key]

    def _sampled(self, tables: list[Table], kept: Sequence[str], part: int) -> float:
        """Join only the rows with some values of the first kept variable; -1 if the sample grows too large."""
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
        """Return a sample of the join of tables."""
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
        """Join the sample with one more table. Different seeds draw independently."""
        matches = self._matches(sample.rows, table)
        pairs = int(matches.counts.sum())
        if pairs <= _DRAWN:
            return _Sample(self._pairs(sample.rows, table, *matches.all()), sample.weight)
        rows = self._pairs(sample.rows, table, *matches.drawn(_DRAWN, seed))
        return _Sample(rows, sample.weight * pairs / _DRAWN)

    def _matches(self, rows: _Rows, table: Table) -> _Matches:
        """Match rows with a table's rows by the first variable that they share, or with all its rows if they share
        none.
        """
        relation, columns = table
        variable = next((v for v in columns if v in rows.values), None)
        if variable is None:
            others = self._count(relation)
            return _Matches(np.zeros(rows.count, np.int64), np.full(rows.count, others), np.arange(others))
        frequencies = self._frequencies((relation, columns[variable]))
        return _Matches(*frequencies.of(rows.values[variable]), frequencies.order)

    def _pairs(self, rows: _Rows, table: Table, at: Counts, matches: Counts) -> _Rows:
        """Join the rows at these positions with the table's rows at `matches`, where they agree in all shared
        variables.
        """
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
        """Return the number of rows that can be read."""
        columns = self._table(relation)
        return len(columns[0]) if columns else min(1, self.sizes[relation])

    def _table(self, relation: str) -> Sequence[Values]:
        if relation not in self._held:
            self._held[relation] = self._relations.columns(relation)
        return self._held[relation]


def _at(rows: _Rows, places: Counts) -> _Rows:
    """Return the rows at these positions."""
    return _Rows(len(places), {v: values[places] for v, values in rows.values.items()})


def _plain(tables: Sequence[Table]) -> tuple[object, ...]:
    """Return the tables with variables numbered in order of appearance, so that equal joins have equal keys."""
    numbers: dict[str, int] = {}
    return tuple(
        (name, tuple((column, numbers.setdefault(v, len(numbers))) for v, column in columns.items()))
        for name, columns in tables
    )


def _mixed(columns: Sequence[Values]) -> npt.NDArray[np.uint64]:
    """Return a hash of each row."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for values in columns:
        mixed = (mixed ^ values.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _different(hashes: npt.NDArray[np.uint64]) -> int:
    """Return the number of distinct hashes. Sorts them in place."""
    hashes.sort()
    return int(np.count_nonzero(are_new((hashes,))))
