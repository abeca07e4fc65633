"""Operators that look at each row alone, the linear ones and the set of the rows; and user-defined operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions.meaning import meaning
from deltic.circuit.generators import generate
from deltic.circuit.oracle.pointwise import Inputs, Row, Rows, Value, means, means_with_change
from deltic.values.types import Schema


@means(ops.Plus)
def plus(op: ops.Plus, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The sum of the inputs."""
    total: Rows = ZSet()
    for rows in inputs:
        total = total + rows
    return total


@means(ops.Map)
def map_(op: ops.Map, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The computed rows, without those that are undefined."""
    schema = types[0].schema
    meanings = [meaning(e, schema.types) for e in op.expressions]

    def computed(row: Row) -> list[Row]:
        named = dict(zip(schema.names, row, strict=True))
        values = tuple(mean(named) for mean in meanings)
        undefined = any(v is None and not c.nullable for v, c in zip(values, op.columns, strict=True))
        return [] if undefined else [values]

    result: Rows = inputs[0].flat_map(computed)
    return result


@means(ops.FlatMap)
def flat_map(op: ops.FlatMap, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """Each row once for every value that the generator yields for it."""
    schema = types[0].schema
    meanings = [meaning(e, schema.types) for e in op.expressions]

    def extended(row: Row) -> list[Row]:
        named = dict(zip(schema.names, row, strict=True))
        arguments = [mean(named) for mean in meanings]
        return [(*row, value) for value in generate(op.generator, arguments)]

    result: Rows = inputs[0].flat_map(extended)
    return result


@means(ops.Filter)
def filter_(op: ops.Filter, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows for which the predicate is neither false nor NULL."""
    schema = types[0].schema
    holds = meaning(op.predicate, schema.types)
    result: Rows = inputs[0].filter(lambda row: holds(dict(zip(schema.names, row, strict=True))) is True)
    return result


@means(ops.Negate)
def negate(op: ops.Negate, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows with negated weights."""
    result: Rows = -inputs[0]
    return result


@means(ops.BundleRelation)
def component(op: ops.BundleRelation, inputs: Inputs, types: Any) -> Rows:
    """One relation of a bundle."""
    result: Rows = inputs[0][op.name]
    return result


@means(ops.Sink, ops.Close, ops.Keep)
def port(op: ops.Operator, inputs: Inputs, types: Any) -> Value:
    """The input."""
    return inputs[0]


@means_with_change(ops.Distinct, ops.DistinctDelta)
def distinct(op: ops.Distinct, rows: Rows, schema: Schema) -> Rows:
    """The rows with a positive weight, each with weight one."""
    result: Rows = rows.distinct()
    return result


@means(ops.Apply, ops.Maintain)
def apply(op: ops.Apply, inputs: Inputs, types: Any) -> Rows:
    """The value of the function."""
    return op.custom.value(inputs)


@means(ops.MaintainDelta)
def maintain_delta(op: ops.MaintainDelta, inputs: Inputs, types: Any) -> Rows:
    """The change by the derivative or the state; at the beginning also the value for empty inputs."""
    pairs = op.pairs(inputs)
    change = op.custom.change(pairs[::2], pairs[1::2])
    return change + op.custom.value([ZSet()] * (len(pairs) // 2)) if op.begins(inputs) and inputs[-1] else change
