"""The meaning of operators without memory, as functions of the Z-sets at one time; what all interpreters share.

Rows are tuples of Python values in the order of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.generators import generate
from deltic.circuit.oracle.aggregation import aggregate
from deltic.circuit.oracle.evaluate import evaluate
from deltic.circuit.types import Schema, ZSetType

Row = tuple[Any, ...]
Rows = ZSet[Row]
Value = Any  # Rows, or a dict of them for a bundle
Inputs = Sequence[Value]


def _map(op: ops.Map, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    schema = types[0].schema
    pairs = ((_project(op, row, schema), weight) for row, weight in inputs[0])
    return ZSet((row, weight) for row, weight in pairs if row is not None)


def _project(op: ops.Map, row: Row, schema: Schema) -> Row | None:
    named = dict(zip(schema.names, row, strict=True))
    values = tuple(evaluate(e, named, schema.types) for e in op.expressions)
    undefined = any(v is None and not c.nullable for v, c in zip(values, op.columns, strict=True))
    return None if undefined else values


def _flat_map(op: ops.FlatMap, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    schema = types[0].schema

    def extended(row: Row) -> list[Row]:
        named = dict(zip(schema.names, row, strict=True))
        arguments = [evaluate(e, named, schema.types) for e in op.expressions]
        return [(*row, value) for value in generate(op.generator, arguments)]

    result: Rows = inputs[0].flat_map(extended)
    return result


def _filter(op: ops.Filter, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    schema = types[0].schema
    result: Rows = inputs[0].filter(
        lambda row: evaluate(op.predicate, dict(zip(schema.names, row, strict=True)), schema.types) is True
    )
    return result


def _join(op: ops.Join, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    result: Rows = inputs[0]
    names = types[0].schema.names
    for rows, type_ in zip(inputs[1:], types[1:], strict=True):
        result, names = _natural_join(result, names, rows, type_.schema.names)
    return result


def _join_delta(op: ops.JoinDelta, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """Σᵢ (a₁ + Δa₁) ⋈ … ⋈ Δaᵢ ⋈ … ⋈ aₙ."""
    olds, deltas = inputs[::2], inputs[1::2]
    news = [old + delta for old, delta in zip(olds, deltas, strict=True)]
    total: Rows = ZSet()
    for i, delta in enumerate(deltas):
        total = total + _join(ops.Join(), [*news[:i], delta, *olds[i + 1 :]], types[1::2])
    return total


Names = tuple[str, ...]


def _natural_join(left: Rows, left_names: Names, right: Rows, right_names: Names) -> tuple[Rows, Names]:
    shared = [n for n in left_names if n in right_names]
    extra = [i for i, n in enumerate(right_names) if n not in left_names]
    joined = left.join(
        right,
        _picker([left_names.index(n) for n in shared]),
        _picker([right_names.index(n) for n in shared]),
        lambda row, other: row + tuple(other[i] for i in extra),
    )
    return joined, left_names + tuple(right_names[i] for i in extra)


def _picker(positions: Sequence[int]) -> Callable[[Row], Row]:
    return lambda row: tuple(row[i] for i in positions)


def _antijoin(op: ops.Antijoin, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    names, right_names = types[0].schema.names, types[1].schema.names
    pick = _picker([names.index(n) for n in right_names])
    result: Rows = inputs[0].antijoin(inputs[1], pick, lambda row: row)
    return result


def _antijoin_delta(op: ops.AntijoinDelta, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """Δa ▷ (b + Δb) − a ⋈ Δb."""
    left, left_delta, right, right_delta = inputs
    kept = _antijoin(ops.Antijoin(), [left_delta, right + right_delta], types[1::2])
    return kept - _join(ops.Join(), [left, right_delta], types[1::2])


def _distinct_delta(op: ops.DistinctDelta, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    old, delta = inputs
    result: Rows = (old + delta).distinct() - old.distinct()
    return result


def _aggregate_delta(op: ops.AggregateDelta, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    old, delta = inputs
    return aggregate(op, old + delta, types[0].schema) - aggregate(op, old, types[0].schema)


def _plus(op: ops.Plus, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    total: Rows = ZSet()
    for rows in inputs:
        total = total + rows
    return total


POINTWISE: dict[type[ops.Operator], Callable[[Any, Inputs, Any], Value]] = {
    ops.Map: _map,
    ops.FlatMap: _flat_map,
    ops.Filter: _filter,
    ops.Join: _join,
    ops.JoinDelta: _join_delta,
    ops.Antijoin: _antijoin,
    ops.AntijoinDelta: _antijoin_delta,
    ops.Plus: _plus,
    ops.Negate: lambda op, inputs, types: -inputs[0],
    ops.Distinct: lambda op, inputs, types: inputs[0].distinct(),
    ops.DistinctDelta: _distinct_delta,
    ops.Aggregate: lambda op, inputs, types: aggregate(op, inputs[0], types[0].schema),
    ops.AggregateDelta: _aggregate_delta,
    ops.Component: lambda op, inputs, types: inputs[0][op.name],
    ops.Sink: lambda op, inputs, types: inputs[0],
    ops.Close: lambda op, inputs, types: inputs[0],
}
