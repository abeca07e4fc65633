"""The definition of aggregates: group the rows, apply the accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.algebra.zset import ZSet, summed
from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.oracle.pointwise import Row, Rows, means_with_change
from deltic.values.types import Schema


@means_with_change(ops.Aggregate, ops.AggregateDelta)
def aggregate(op: ops.Aggregate, rows: Rows, schema: Schema) -> Rows:
    """The set of the groups of `rows`, which are of `schema`: their keys and aggregates."""
    positions = [schema.index(key) for key in op.keys]
    groups = rows.by(lambda row: tuple(row[i] for i in positions))
    there = ((key, group) for key, group in groups.items() if sum(weight for _, weight in group) > 0)
    return ZSet.of((*key, *(_value(call, group, schema) for call in op.calls)) for key, group in there)


def _value(call: ops.AggregateCall, group: Rows, schema: Schema) -> Any:
    if not call.columns:
        return sum(weight for _, weight in group)
    accumulator = ACCUMULATORS[call.function]
    indices = [schema.index(name) for name in call.columns]
    needed = [indices[i] for i in accumulator.needed(len(indices))]
    totals = summed((_values(row, indices), w) for row, w in group if all(row[i] is not None for i in needed))
    if not accumulator.counts and sum(totals.values()) <= 0:
        return None
    return accumulator.value(totals, [schema.columns[i].type for i in indices], call.parameters)


def _values(row: Row, indices: Sequence[int]) -> Any:
    """Return the value of one column, or a tuple of the values of several."""
    return row[indices[0]] if len(indices) == 1 else tuple(row[i] for i in indices)
