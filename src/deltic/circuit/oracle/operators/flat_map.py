"""A flatmap makes several rows of each row."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions.meaning import meaning
from deltic.circuit.generators import generate
from deltic.circuit.oracle.pointwise import Inputs, Row, Rows, means


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
