"""The aggregates of a recursion in compiled code: the tables of `kernels.aggregates`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.engine.accumulators.slots import ROWS, Linear
from deltic.engine.accumulators.sum import HALVES as HALF_SUMS
from deltic.engine.accumulators.sum import WRAPPED
from deltic.engine.kernels import aggregates as kernel
from deltic.engine.kernels.component import NOBODY, G, M, P, V, X
from deltic.engine.kernels.types import Table
from deltic.engine.recursion.signed.reading import ByIteration
from deltic.engine.recursion.signed.running import RunningGroups
from deltic.engine.storage.columns import Domain, Place
from deltic.engine.storage.layout import Layout
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Kind

_NO_PLACE = (0, 0, 0)
# A result: how it is read, from which slot, and the slot that must be positive for it not to be NULL.
_Result = tuple[int, int, int]


def is_compiled(running: RunningGroups) -> bool:
    """Return whether compiled code can examine the groups: all totals are numbers of 64 bits."""
    linear = all(_kinds(running, *key) for key in running.slots.linear)
    grouping = running.groups.calls
    return linear and all(len(c) == 1 for c in running.slots.counts) and all(_result(running, c) for c in grouping)


def _kinds(running: RunningGroups, columns: Sequence[int], linear: Linear) -> Sequence[int]:
    """Return what the slots of a sum add; nothing if compiled code does not support it."""
    if len(columns) > 1 or not _is_whole(running, columns[0]):
        return ()
    return {WRAPPED: (kernel.NUMBER,), HALF_SUMS: (kernel.LOW, kernel.HIGH)}.get(linear, ())


def _is_whole(running: RunningGroups, column: int) -> bool:
    """Return whether a column has integers that are stored as themselves in signed 64 bits."""
    type_ = running.source.relation.schema.columns[column].type
    return type_.is_integer and type_.kind is not Kind.UINT64


def _result(running: RunningGroups, call: GroupedAggregate) -> _Result | None:
    """Return how compiled code reads the result of a call; None if it cannot."""
    slots, like, columns = running.slots, ACCUMULATORS[call.function].like, call.columns
    count = NOBODY if ACCUMULATORS[call.function].counts or slots.count(columns) == ROWS else slots.count(columns)
    if like == "count":
        return kernel.PLAIN, slots.count(columns), NOBODY
    if like == "count_distinct":
        return kernel.PLAIN, slots.values(columns).present, NOBODY
    if like in ("min", "max"):
        return kernel.PLAIN, slots.extreme(columns, like == "min"), count
    if like not in ("sum", "checked_sum") or not _is_whole(running, columns[0]):
        return None
    type_ = running.source.relation.schema.columns[columns[0]].type
    if like == "sum":
        kind = kernel.SIGNED if type_.signed else kernel.UNSIGNED
        return kind | type_.bits << 2, slots.sum(columns, WRAPPED), count
    if type_.bits <= 32:
        return kernel.PLAIN, slots.sum(columns, WRAPPED), count
    return kernel.HALVES, slots.sum(columns, HALF_SUMS), count


class GroupTables:
    """The tables of some examinations; `numbers` are those of arrangements, by their ids."""

    def __init__(self, first_move: int, numbers: Mapping[int, int]) -> None:
        self._first_move, self._numbers = first_move, numbers
        self._moves: list[Table] = [np.empty((0, M.COLUMNS), np.int64)]
        self._rows: list[list[tuple[int, ...]]] = [[], [], [], [], []]
        self._limited: list[Domain] = []

    def add(self, running: RunningGroups, totals: int) -> int:
        """Add an examination, whose totals are in the arrangement of this number. Return its row of `aggregates`."""
        aggregates, probes, readings, extremes, results = self._rows
        first = [len(rows) for rows in self._rows]
        keys, source, target = range(running.groups.keys), running.source, running.target
        totals_layout = running.totals.layout
        for number, layout, time, value in (
            (NOBODY, source.layout, None, None),
            (self._numbers[id(running.entries.arrangement)], running.entries.layout, running.entries.time, None),
            (totals, totals_layout, totals_layout.places[len(keys)], totals_layout.places[-1]),
            (self._numbers[id(running.past.arrangement)], running.past.layout, running.past.time, None),
            (NOBODY, target.layout, None, None),
        ):
            probes.append(self._probe(running, number, layout, time, value))
        for values in running.values:
            layout, number = values.groups.arrangement.layout, self._numbers[id(values.groups.arrangement)]
            extremes.append(self._extreme(running, values.column, len(probes)))
            probes.append(self._probe(running, number, layout, None, layout.places[len(keys)]))
        readings += self._readings(running)
        results += self._results(running)
        places = [p for i, p in enumerate(running.past.layout.places) if i != len(keys)]
        back = self.add_moves(moves(Layout(tuple(places), 0), target.canonical, target.layout))
        counts = [len(rows) - start for rows, start in zip(self._rows, first, strict=True)]
        ranges = [(first[n], counts[n]) for n in (2, 3, 4)]
        aggregates.append((running.slots.width, first[1], *ranges[0], *ranges[1], *ranges[2], *back))
        return len(aggregates) - 1

    def move_to(self, index: ByIteration) -> tuple[int, int]:
        """Return the moves that turn canonical rows into those by iteration, without the iteration."""
        places = [p for i, p in enumerate(index.layout.places) if i != len(index.keys)]
        result = moves(index.state.layout, (*index.keys, *index.others), Layout(tuple(places), 0))
        return self.add_moves(result)

    def moves(self) -> Table:
        """Return all moves, from the first one on."""
        return np.concatenate(self._moves)

    def tables(self) -> list[Table]:
        """Return the tables of aggregates, probes, readings, extremes and results."""
        widths = (G.COLUMNS, P.COLUMNS, V.COLUMNS, X.COLUMNS, V.COLUMNS)
        made = [np.array(rows, np.int64).reshape(-1, n) for rows, n in zip(self._rows, widths, strict=True)]
        self._result_table = made[-1]
        return made

    def limit(self) -> None:
        """Set the bits that each result may have, which grow with its domain."""
        self._result_table[:, V.LIMIT] = [NOBODY if domain.empty else domain.bits for domain in self._limited]

    def add_moves(self, found: Table) -> tuple[int, int]:
        """Add moves. Return their start among all moves, and their number."""
        first = self._first_move + sum(map(len, self._moves))
        self._moves.append(found)
        return first, len(found)

    def _probe(
        self, running: RunningGroups, number: int, layout: Layout, time: Place | None, value: Place | None
    ) -> tuple[int, ...]:
        keys = range(running.groups.keys)
        result = moves(running.source.layout, keys, Layout(layout.places[: len(keys)], layout.words))
        return (number, layout.words, *self.add_moves(result), *_place(time), *_place(value))

    def _extreme(self, running: RunningGroups, column: int, probe: int) -> tuple[int, ...]:
        place, slots = _column(running.entries, column), running.slots.ordered[column,]
        result = (slots.extremes.get(least, NOBODY) for least in (True, False))
        return (probe, *_place(place), slots.present, *result, place.base, int(place.nullable))

    def _readings(self, running: RunningGroups) -> list[tuple[int, ...]]:
        result: list[tuple[int, ...]] = [(ROWS, kernel.ONE, *_NO_PLACE, 0, 0, 0, 0)]
        wanted = [(slot, kernel.ONE, columns[0]) for columns, slot in running.slots.counts.items()]
        for (columns, linear), slot in running.slots.linear.items():
            wanted += [(slot + i, kind, columns[0]) for i, kind in enumerate(_kinds(running, columns, linear))]
        for slot, kind, column in wanted:
            place = _column(running.entries, column)
            result.append((slot, kind, *_place(place), place.base, int(place.nullable), 0, 0))
        return result

    def _results(self, running: RunningGroups) -> list[tuple[int, ...]]:
        result: list[tuple[int, ...]] = []
        keys, target = running.groups.keys, running.target
        for place, domain, call in zip(
            target.layout.places[keys:], target.domains[keys:], running.groups.calls, strict=True
        ):
            read = _result(running, call)
            assert read is not None
            kind, slot, count = read
            self._limited.append(domain)
            result.append((slot, kind, *_place(place), place.base, int(place.nullable), count, 0))
        return result


def moves(source: Layout, order: Sequence[int], target: Layout) -> Table:
    """Return the moves of columns, in this order, from one layout into another; see `kernels.component`."""
    places = ((source.places[column], to) for column, to in zip(order, target.places, strict=True))
    return np.array([(*place.found, to.word, to.shift) for place, to in places], np.int64).reshape(-1, M.COLUMNS)


def _place(place: Place | None) -> tuple[int, int, int]:
    return _NO_PLACE if place is None else place.found


def _column(index: ByIteration, column: int) -> Place:
    """Return the place of a column, key or not, in rows by iteration."""
    order = (*index.keys, NOBODY, *index.others)
    return index.layout.places[order.index(column)]
