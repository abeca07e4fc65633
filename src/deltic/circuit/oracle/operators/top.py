"""The definition of top-k: a slice of the rows of each partition in order."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.circuit.edges import ZSetType
from deltic.circuit.operators.top import Top, TopDelta
from deltic.circuit.oracle.pointwise import Inputs, Rows, means
from deltic.circuit.oracle.sequences import bag, sequences
from deltic.values.types import Schema


def top(op: Top, rows: Rows, schema: Schema) -> Rows:
    """The first rows of each partition of `rows`, which are of `schema`."""
    end = None if op.limit is None else op.offset + op.limit
    return bag(row for part in sequences(rows, op.keys, op.order, schema) for row in part[op.offset : end])


@means(Top)
def _top(op: Top, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    return top(op, inputs[0], types[0].schema)


@means(TopDelta)
def _top_delta(op: TopDelta, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    old, delta = inputs
    return top(op, old + delta, types[0].schema) - top(op, old, types[0].schema)
