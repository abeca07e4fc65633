"""A filter keeps the rows for which its predicate is true."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions.meaning import meaning
from deltic.circuit.oracle.pointwise import Inputs, Rows, means


@means(ops.Filter)
def filter_(op: ops.Filter, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows for which the predicate is neither false nor NULL."""
    schema = types[0].schema
    holds = meaning(op.predicate, schema.types)
    result: Rows = inputs[0].filter(lambda row: holds(dict(zip(schema.names, row, strict=True))) is True)
    return result
