"""A map computes one row of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions.meaning import Meaning, meaning
from deltic.circuit.oracle.pointwise import Inputs, Row, Rows, means


@means(ops.Map)
def map_(op: ops.Map, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The computed rows, without those that are undefined."""
    schema = types[0].schema
    column_types = schema.types
    meanings = [meaning(e, column_types) for e in op.expressions]
    pairs = ((_project(op, meanings, dict(zip(schema.names, row, strict=True))), weight) for row, weight in inputs[0])
    return ZSet((row, weight) for row, weight in pairs if row is not None)


def _project(op: ops.Map, meanings: Sequence[Meaning], named: Mapping[str, Any]) -> Row | None:
    values = tuple(mean(named) for mean in meanings)
    undefined = any(v is None and not c.nullable for v, c in zip(values, op.columns, strict=True))
    return None if undefined else values
