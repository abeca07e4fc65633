"""Operators that look at each row alone, the linear ones and the set of the rows; and user-defined operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions.meaning import meaning
from deltic.circuit.generators import generate
from deltic.circuit.oracle.pointwise import Inputs, Row, Rows, means, means_with_change
from deltic.values.types import Schema


def _values(expressions: Sequence[exp.Expression], schema: Schema) -> Callable[[Row], Row]:
    """Return a function that returns the values of expressions for a row."""
    meanings = [meaning(e, schema.types) for e in expressions]

    def values(row: Row) -> Row:
        named = dict(zip(schema.names, row, strict=True))
        return tuple(mean(named) for mean in meanings)

    return values


@means(ops.Map)
def map_(op: ops.Map, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The computed rows, without those that are undefined."""
    values = _values(op.expressions, types[0].schema)

    def computed(row: Row) -> list[Row]:
        result = values(row)
        undefined = any(v is None and not c.nullable for v, c in zip(result, op.columns, strict=True))
        return [] if undefined else [result]

    mapped: Rows = inputs[0].flat_map(computed)
    return mapped


@means(ops.FlatMap)
def flat_map(op: ops.FlatMap, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """Each row once for every value that the generator yields for it."""
    values = _values(op.expressions, types[0].schema)
    result: Rows = inputs[0].flat_map(lambda row: [(*row, v) for v in generate(op.generator, values(row))])
    return result


@means(ops.Filter)
def filter_(op: ops.Filter, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows for which the predicate is neither false nor NULL."""
    values = _values([op.predicate], types[0].schema)
    result: Rows = inputs[0].filter(lambda row: values(row)[0] is True)
    return result


@means(ops.MaintainDelta)
def maintain_delta(op: ops.MaintainDelta, inputs: Inputs, types: Any) -> Rows:
    """The change by the derivative or the state; at the beginning also the value for empty inputs."""
    pairs = op.pairs(inputs)
    change = op.custom.change(pairs[::2], pairs[1::2])
    return change + op.custom.value([ZSet()] * (len(pairs) // 2)) if op.begins(inputs) and inputs[-1] else change


means(ops.Plus)(lambda op, inputs, types: sum(inputs, ZSet()))
means(ops.Negate)(lambda op, inputs, types: -inputs[0])
means(ops.BundleRelation)(lambda op, inputs, types: inputs[0][op.name])
means(ops.Sink, ops.Close, ops.Keep)(lambda op, inputs, types: inputs[0])
means(ops.Apply, ops.Maintain)(lambda op, inputs, types: op.custom.value(inputs))
means_with_change(ops.Distinct, ops.DistinctDelta)(lambda op, rows, schema: rows.distinct())
