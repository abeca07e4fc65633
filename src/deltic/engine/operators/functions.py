"""Window functions on vectors of rows, without loops over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.operators.over import WindowCall
from deltic.engine.accumulators.slots import ROWS, NoResult, Slots
from deltic.engine.operators import numbers
from deltic.engine.operators.sequences import OrderedRows, Ordering, Positions
from deltic.engine.storage.codec import decode, encode, order_floats
from deltic.engine.storage.columns import Column, Values
from deltic.engine.storage.interner import Interner, is_labelled
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.arrow import from_arrow, to_arrow
from deltic.values.types import Schema, Type

_AT_ONCE = 1 << 14  # frames whose totals are looked at together


@dataclass(frozen=True)
class FrameRows:
    """The rows with their stored columns, and the ordering column by whose values frames count, if there is one."""

    rows: OrderedRows
    columns: dict[str, Column]
    schema: Schema
    ordering: Ordering | None
    asked: npt.NDArray[np.bool_]
    """The rows whose values are needed; the others are only there for frames."""
    interner: Interner

    def column(self, call: WindowCall, index: int = 0) -> Column:
        """Return a column that a call reads."""
        return self.columns[call.columns[index]]

    def types(self, call: WindowCall) -> list[Type]:
        """Return the types of the columns that a call reads."""
        return [self.schema.types[name] for name in call.columns]

    def frame(self, call: WindowCall) -> tuple[Positions, Positions]:
        """Return the start and end of each row's frame. Rows that are not needed have empty frames."""
        assert call.frame is not None
        low, high = self.rows.seen(call.frame, self.ordering)
        return low, np.where(self.asked, high, low)


def evaluate(call: WindowCall, seen: FrameRows) -> Column:
    """Return the stored values of a call, one for each row."""
    return _FUNCTIONS.get(call.function, _aggregated)(call, seen)


# Ranks


def _row_number(call: WindowCall, seen: FrameRows) -> Column:
    return seen.rows.positions - seen.rows.starts + 1, None


def _rank(call: WindowCall, seen: FrameRows) -> Column:
    return seen.rows.peer_starts - seen.rows.starts + 1, None


def _dense_rank(call: WindowCall, seen: FrameRows) -> Column:
    rows = seen.rows
    return rows.peers - rows.peers[rows.starts] + 1, None


def _percent_rank(call: WindowCall, seen: FrameRows) -> Column:
    rows = seen.rows
    others = np.maximum(rows.ends - rows.starts - 1, 1)
    return order_floats((rows.peer_starts - rows.starts) / others), None


def _cume_dist(call: WindowCall, seen: FrameRows) -> Column:
    rows = seen.rows
    return order_floats((rows.peer_ends - rows.starts) / (rows.ends - rows.starts)), None


def _ntile(call: WindowCall, seen: FrameRows) -> Column:
    """Return the bucket of each row. If buckets cannot have equal sizes, the first ones have one row more."""
    rows = seen.rows
    at = rows.positions - rows.starts
    size, larger = np.divmod(rows.ends - rows.starts, call.number)
    in_larger = at < larger * (size + 1)
    behind = larger + (at - larger * (size + 1)) // np.maximum(size, 1)
    return np.where(in_larger, at // (size + 1), behind) + 1, None


# Values of other rows


def _taken(column: Column, at: Positions, there: npt.NDArray[np.bool_]) -> Column:
    """Return the values at some positions; NULL where there is none."""
    values, nulls = column
    if not len(values):
        return values, nulls
    inside = np.where(there, at, 0)
    return values[inside], ~there if nulls is None else ~there | nulls[inside]


def _without_nulls(*columns: Column) -> tuple[Positions, Positions]:
    """Return the positions without NULL in any column, and the number of them before each row and before the end."""
    there = np.ones(len(columns[0][0]), bool)
    for _, nulls in columns:
        there &= True if nulls is None else ~nulls
    return np.flatnonzero(there), np.concatenate([[0], np.cumsum(there)])


def _shift(call: WindowCall, seen: FrameRows) -> Column:
    """Return the value at a distance of rows back or ahead, or else the default."""
    rows, away = seen.rows, -call.number if call.function == "lag" else call.number
    if call.ignores_nulls and away:
        at, there = _stepped(seen.column(call), away, rows)
    else:
        at = rows.positions + max(-len(rows), min(away, len(rows)))
        there = (at >= rows.starts) & (at < rows.ends)
    values, nulls = _taken(seen.column(call), at, there)
    if len(call.columns) == 1:
        return values, nulls
    default, missing = seen.column(call, 1)
    unknown = np.where(there, False if nulls is None else nulls, False if missing is None else missing)
    return np.where(there, values, default), unknown


def _stepped(column: Column, away: int, rows: OrderedRows) -> tuple[Positions, npt.NDArray[np.bool_]]:
    """Return the position of the n-th non-NULL value back or ahead, and whether there is one."""
    result, before = _without_nulls(column)
    number = before[:-1] + away if away < 0 else before[1:] + away - 1
    there = (number >= before[rows.starts]) & (number < before[rows.ends])
    return np.concatenate([result, [0]])[np.where(there, number, 0)], there


def _pick(call: WindowCall, seen: FrameRows) -> Column:
    """Return the first, last or n-th value of the frame."""
    low, high = seen.frame(call)
    column, result = seen.column(call), None
    if call.ignores_nulls:
        result, before = _without_nulls(column)
        low, high = before[low], before[high]
    number = max(call.number - 1, 0)
    at = high - 1 if call.function == "last_value" else low + min(number, len(seen.rows))
    there = (low < high) & (at < high)
    return _taken(column, at if result is None else np.concatenate([result, [0]])[np.where(there, at, 0)], there)


# Aggregates


def _aggregated(call: WindowCall, seen: FrameRows) -> Column:
    """Return the aggregate of each frame, computed once for rows with the same frame."""
    low, high = seen.frame(call)
    pairs, which = np.unique(low * (len(low) + 1) + high, return_inverse=True)
    low, high = np.divmod(pairs, len(which) + 1)
    values, nulls = _of_frames(call, seen, low, high)
    return values[which], None if nulls is None else nulls[which]


def _of_frames(call: WindowCall, seen: FrameRows, low: Positions, high: Positions) -> Column:
    if call.function in ("min", "max"):
        return _extremes(call, seen, low, high)
    columns = tuple(map(seen.schema.index, call.columns))
    slots = Slots([GroupedAggregate(call.function, columns, call.parameters)], seen.schema, seen.interner)
    if slots.ordered:
        return _one_by_one(call, seen, low, high)
    sums = dict(_sums(slots, seen))
    parts = [_totals(slots, sums, low[at : at + _AT_ONCE], high[at : at + _AT_ONCE]) for at in _chunks(len(low))]
    values = np.concatenate([values for values, _ in parts])
    nulls = np.concatenate([np.zeros(len(v), bool) if nulls is None else nulls for v, nulls in parts])
    return values, nulls if ACCUMULATORS[call.function].counts else nulls | (low >= high)


def _chunks(count: int) -> range:
    return range(0, max(count, 1), _AT_ONCE)


def _totals(slots: Slots, sums: dict[int, Values], low: Positions, high: Positions) -> Column:
    """Return the results of frames: the prefix sums at their ends minus those at their starts."""
    totals = np.zeros((len(low), slots.width), np.int64)
    for slot, sums_before in sums.items():
        totals[:, slot] = sums_before[high] - sums_before[low]
    try:
        (column,) = slots.read(totals)
        return column
    except NoResult as missing:
        raise missing.error from None


def _sums(slots: Slots, seen: FrameRows) -> Iterator[tuple[int, Values]]:
    """Yield, for each slot with nonzero values, the prefix sums before each row and before the end, modulo 2⁶⁴."""
    count = len(seen.rows)
    yield ROWS, np.arange(count + 1)
    columns = [seen.columns[name] for name in seen.schema.names]
    for needed, slot in slots.counts.items():
        _, before = _without_nulls(*(columns[c] for c in needed))
        yield slot, before
    for (read, linear), slot in slots.linear.items():
        types = [seen.schema.columns[c].type for c in read]
        there, _ = _without_nulls(*(columns[c] for c in read))
        natural = [numbers.natural(columns[c][0][there], t, seen.interner) for c, t in zip(read, types, strict=True)]
        added: dict[int, Values] = {}
        for place, amounts in linear.contribute(natural, types):
            for at in (place,) if isinstance(place, int) else np.unique(place).tolist():
                amount = np.atleast_2d(np.where(place == at, amounts, 0)).sum(axis=0)
                every = added.setdefault(slot + at, np.zeros(count + 1, np.int64))
                every[there + 1] += amount
        yield from ((at, np.cumsum(every)) for at, every in added.items())


def _extremes(call: WindowCall, seen: FrameRows, low: Positions, high: Positions) -> Column:
    """Return the least or greatest value of each frame, from those of all ranges whose length is a power of two."""
    values, _ = column = seen.column(call)
    order = seen.interner[type_].order if is_labelled(type_ := seen.types(call)[0]) else None
    there, before = _without_nulls(column)
    better, worst = (np.minimum, 1) if call.function == "min" else (np.maximum, -1)
    table = np.full(len(values), np.iinfo(np.int64).max if worst > 0 else np.iinfo(np.int64).min)
    table[there] = values[there] if order is None else order.of(values[there])
    result, nulls = np.zeros(len(low), np.int64), before[high] <= before[low]
    lengths, step = high - low, 1
    while step <= lengths.max(initial=0):
        now = (lengths >= step) & (lengths < 2 * step)
        result[now] = better(table[low[now]], table[high[now] - step])
        table = better(table[:-step], table[step:]) if step < len(table) else table
        step *= 2
    result[nulls] = 0
    return result if order is None else order.ids(result), nulls


def _one_by_one(call: WindowCall, seen: FrameRows, low: Positions, high: Positions) -> Column:
    """Return the accumulator's value, frame by frame, for accumulators that are not sums."""
    types, accumulator = seen.types(call), ACCUMULATORS[call.function]
    columns = [seen.columns[name] for name in call.columns]
    lists = [from_arrow(decode(*c, t, seen.interner), t) for c, t in zip(columns, types, strict=True)]
    values = lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))
    there, before = _without_nulls(*(columns[i] for i in accumulator.needed(len(columns))))
    values, found = [values[i] for i in there.tolist()], []
    for start, end in zip(before[low].tolist(), before[high].tolist(), strict=True):
        totals: dict[Any, int] = {}
        for value in values[start:end]:
            totals[value] = totals.get(value, 0) + 1
        found.append(accumulator.value(totals, types, call.parameters) if totals or accumulator.counts else None)
    result = accumulator.result(types)
    return encode(to_arrow(found, result), result, seen.interner)


Function = Callable[[WindowCall, FrameRows], Column]
_FUNCTIONS: dict[str, Function] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
    "lag": _shift,
    "lead": _shift,
    "first_value": _pick,
    "last_value": _pick,
    "nth_value": _pick,
}
