"""A map computes a row of each row."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.oracle.evaluate import evaluate
from deltic.circuit.oracle.pointwise import Inputs, Row, Rows, means
from deltic.circuit.types import Schema, ZSetType


@means(ops.Map)
def map_(op: ops.Map, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The computed rows; one that is undefined is none."""
    schema = types[0].schema
    pairs = ((_project(op, row, schema), weight) for row, weight in inputs[0])
    return ZSet((row, weight) for row, weight in pairs if row is not None)


def _project(op: ops.Map, row: Row, schema: Schema) -> Row | None:
    named = dict(zip(schema.names, row, strict=True))
    values = tuple(evaluate(e, named, schema.types) for e in op.expressions)
    undefined = any(v is None and not c.nullable for v, c in zip(values, op.columns, strict=True))
    return None if undefined else values
