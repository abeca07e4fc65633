"""The definition of window functions, the rows that each row sees and functions over them; and of top-k, a slice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.oracle.operators.aggregate import aggregate
from deltic.circuit.oracle.pointwise import Row, Rows, means_with_change
from deltic.functions.calendar import months_later
from deltic.values import in_order
from deltic.values.numbers import EXACT
from deltic.values.types import Schema, Type


class _Partition:
    """The rows of one partition in order, with the number of each row's group of peers."""

    def __init__(self, rows: Sequence[Row], op: ops.Over, schema: Schema) -> None:
        self.rows, self.op, self.schema = rows, op, schema
        self.peers = peers(rows, op.order, schema)

    def values(self, call: ops.WindowCall) -> list[Any]:
        """Return the value of a call for each row."""
        return [_FUNCTIONS.get(call.function, _aggregated)(self, call, i) for i in range(len(self.rows))]

    def column(self, call: ops.WindowCall, index: int = 0) -> list[Any]:
        """Return the values of one of the columns that a call reads."""
        position = self.schema.index(call.columns[index])
        return [row[position] for row in self.rows]

    def first_peer(self, i: int) -> int:
        """Return the position of the first peer of row i."""
        return self.peers.index(self.peers[i])

    def frame(self, call: ops.WindowCall, i: int) -> list[int]:
        """Return the positions of the rows in the frame of row i."""
        assert call.frame is not None
        if call.frame.unit is ops.Unit.SESSIONS:
            return self._session(call.frame, i)
        return [j for j in range(len(self.rows)) if self._sees(call.frame, i, j)]

    def _session(self, frame: ops.Frame, i: int) -> list[int]:
        """Return the positions that are reached from row i by steps within the session's distance."""
        first = last = i
        while first and self._is_near(frame, first - 1):
            first -= 1
        while last + 1 < len(self.rows) and self._is_near(frame, last):
            last += 1
        return list(range(first, last + 1))

    def _is_near(self, frame: ops.Frame, i: int) -> bool:
        """Return whether row i and the next one belong to one session."""
        assert frame.start is not None
        assert frame.end is not None
        after = self._compared(ops.Unit.RANGE, i, i + 1, frame.start) >= 0
        return after and self._compared(ops.Unit.RANGE, i, i + 1, frame.end) <= 0

    def _sees(self, frame: ops.Frame, i: int, j: int) -> bool:
        if frame.unit in (ops.Unit.ROWS, ops.Unit.GROUPS):
            away = j - i if frame.unit is ops.Unit.ROWS else self.peers[j] - self.peers[i]
            return (frame.start is None or away >= frame.start) and (frame.end is None or away <= frame.end)
        after = frame.start is None or self._compared(frame.unit, i, j, frame.start) >= 0
        return after and (frame.end is None or self._compared(frame.unit, i, j, frame.end) <= 0)

    def _compared(self, unit: ops.Unit, i: int, j: int, distance: int | Decimal) -> int:
        """Return the sign of the position of row j relative to the place at that distance from row i."""
        if not distance:
            return self.peers[j] - self.peers[i]
        (order,) = self.op.order
        position = self.schema.index(order.column)
        here, there = self.rows[i][position], self.rows[j][position]
        if here is None:
            return self.peers[j] - self.peers[i]
        if there is None:
            return -1 if order.nulls_first else 1
        sign = _compare(there, here, -distance if order.descending else distance, unit)
        return -sign if order.descending else sign


def _compare(value: Any, origin: Any, distance: int | Decimal, unit: ops.Unit) -> int:
    """Return the sign of `value` less what lies at that distance from `origin`, which may be beyond all values."""
    try:
        target = in_order(_moved(origin, distance, unit))
    except (OverflowError, ValueError):
        return -1 if distance > 0 else 1
    return int(in_order(value) > target) - int(in_order(value) < target)


def _moved(value: Any, distance: int | Decimal, unit: ops.Unit) -> Any:
    """Return the value at that distance; OverflowError or ValueError where there is none."""
    if unit is ops.Unit.MONTHS:
        return months_later(value, int(distance))
    if isinstance(value, float):
        return value + float(distance)
    if isinstance(value, datetime | timedelta):
        return value + timedelta(microseconds=int(distance))
    return value + timedelta(days=int(distance)) if isinstance(value, date) else EXACT.add(value, Decimal(distance))


Function = Callable[[_Partition, ops.WindowCall, int], Any]


def _percent_rank(partition: _Partition, call: ops.WindowCall, i: int) -> float:
    others = len(partition.rows) - 1
    return partition.first_peer(i) / others if others else 0.0


def _ntile(partition: _Partition, call: ops.WindowCall, i: int) -> int:
    """Return the bucket; the first buckets have one row more where the rows do not divide evenly."""
    size, larger = divmod(len(partition.rows), call.number)
    sizes = [size + (bucket < larger) for bucket in range(call.number)]
    return next(bucket for bucket in range(call.number) if i < sum(sizes[: bucket + 1])) + 1


def _shift(partition: _Partition, call: ops.WindowCall, i: int) -> Any:
    """Return the value `number` rows back or ahead, skipping NULLs where they are ignored; else the default."""
    away = -call.number if call.function == "lag" else call.number
    values = partition.column(call)
    result = _stepped(values, i, away) if call.ignores_nulls and away else i + away
    if 0 <= result < len(values):
        return values[result]
    return partition.column(call, 1)[i] if len(call.columns) > 1 else None


def _stepped(values: Sequence[Any], i: int, away: int) -> int:
    """Return the position of the abs(away)-th value that is not NULL before or after position i; -1 for none."""
    ahead = range(i + 1, len(values)) if away > 0 else range(i - 1, -1, -1)
    there = [j for j in ahead if values[j] is not None]
    return there[abs(away) - 1] if len(there) >= abs(away) else -1


def _pick(partition: _Partition, call: ops.WindowCall, i: int) -> Any:
    """Return the first, last or n-th value of the frame; NULL where it is missing."""
    values = partition.column(call)
    seen = [values[j] for j in partition.frame(call, i) if not (call.ignores_nulls and values[j] is None)]
    position = {"first_value": 0, "last_value": len(seen) - 1}.get(call.function, call.number - 1)
    return seen[position] if 0 <= position < len(seen) else None


def _aggregated(partition: _Partition, call: ops.WindowCall, i: int) -> Any:
    """Return the aggregate of the frame; over no rows, as over NULLs alone."""
    over = bag(partition.rows[j] for j in partition.frame(call, i))
    for (value,), _ in aggregate(ops.Aggregate((), (call.aggregate,)), over, partition.schema):
        return value
    accumulator = ACCUMULATORS[call.function]
    types = [partition.schema.types[name] for name in call.columns] or [Type.INT64]
    return accumulator.value({}, types, call.parameters) if accumulator.counts else None


_FUNCTIONS: dict[str, Function] = {
    "row_number": lambda partition, call, i: i + 1,
    "rank": lambda partition, call, i: partition.first_peer(i) + 1,
    "dense_rank": lambda partition, call, i: partition.peers[i] + 1,
    "percent_rank": _percent_rank,
    "cume_dist": lambda p, call, i: (p.first_peer(i) + p.peers.count(p.peers[i])) / len(p.rows),
    "ntile": _ntile,
    "lag": _shift,
    "lead": _shift,
    "first_value": _pick,
    "last_value": _pick,
    "nth_value": _pick,
}


@means_with_change(ops.Over, ops.OverDelta)
def over(op: ops.Over, rows: Rows, schema: Schema) -> Rows:
    """The rows with the values of all calls appended."""
    return bag(row for rows_of in sequences(rows, op.keys, op.order, schema) for row in _widened(rows_of, op, schema))


def _widened(rows: Sequence[Row], op: ops.Over, schema: Schema) -> Iterator[Row]:
    partition = _Partition(rows, op, schema)
    values = [partition.values(call) for call in op.calls]
    return ((*row, *(column[i] for column in values)) for i, row in enumerate(rows))


def sequences(rows: Rows, keys: Sequence[str], order: Sequence[ops.Order], schema: Schema) -> list[list[Row]]:
    """Return the rows of each partition in order, each as often as it weighs; ties are broken by all columns."""
    positions = [schema.index(key) for key in keys]
    parts = rows.by(lambda row: tuple(row[i] for i in positions))
    return [_sequence(part, order, schema) for part in parts.values()]


def _sequence(part: Rows, order: Sequence[ops.Order], schema: Schema) -> list[Row]:
    """Sort the rows by each column, the least important first: Python's sort is stable."""
    result = [row for row, weight in part for _ in range(weight)]
    for name in reversed(schema.names):
        _sort(result, ops.Order(name), schema)
    for column in reversed(order):
        _sort(result, column, schema)
    return result


def _sort(rows: list[Row], order: ops.Order, schema: Schema) -> None:
    index = schema.index(order.column)
    rows.sort(key=lambda row: _key(row[index], order), reverse=order.descending)


def _key(value: Any, order: ops.Order) -> Any:
    """Return a sort key for a value, with NULL before or after all others; correct for a sort in reverse, too."""
    return (value is not None) == (order.nulls_first != order.descending), in_order(value) if value is not None else 0


def peers(sequence: Sequence[Row], order: Sequence[ops.Order], schema: Schema) -> list[int]:
    """For each row of a sequence the number of its group of peers, from 0; peers are equal in the order."""
    positions = [schema.index(o.column) for o in order]
    result: list[int] = []
    for i, row in enumerate(sequence):
        same = i > 0 and all(_equal(row[p], sequence[i - 1][p]) for p in positions)
        result.append(result[-1] + (not same) if i else 0)
    return result


def _equal(a: Any, b: Any) -> bool:
    return (a is None) == (b is None) and (a is None or bool(in_order(a) == in_order(b)))


def bag(rows: Iterable[Row]) -> Rows:
    """Return the rows with weight one for each occurrence."""
    return ZSet((row, 1) for row in rows)


@means_with_change(ops.Top, ops.TopDelta)
def top(op: ops.Top, rows: Rows, schema: Schema) -> Rows:
    """The first rows of each partition of `rows`, which are of `schema`."""
    end = None if op.limit is None else op.offset + op.limit
    return bag(row for part in sequences(rows, op.keys, op.order, schema) for row in part[op.offset : end])
