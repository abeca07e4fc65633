"""The rows of partitions in order, and the definition of top-k: a slice of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.oracle.pointwise import Row, Rows, means_with_change
from deltic.values import in_order
from deltic.values.types import Schema


def sequences(rows: Rows, keys: Sequence[str], order: Sequence[ops.Order], schema: Schema) -> list[list[Row]]:
    """The rows of each partition in order, each as often as it weighs; ties are broken by all columns."""
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
    """A sort key for a value, with NULL before or after all others; correct for a sort in reverse, too."""
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
    """The rows with weight one for each occurrence."""
    return ZSet((row, 1) for row in rows)


@means_with_change(ops.Top, ops.TopDelta)
def top(op: ops.Top, rows: Rows, schema: Schema) -> Rows:
    """The first rows of each partition of `rows`, which are of `schema`."""
    end = None if op.limit is None else op.offset + op.limit
    return bag(row for part in sequences(rows, op.keys, op.order, schema) for row in part[op.offset : end])
