"""Joins, antijoins and semijoins, and the changes of the first two by the definition of their terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.oracle.pointwise import Inputs, Row, Rows, means

Names = tuple[str, ...]


@means(ops.Join)
def join(op: ops.Join, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The natural join of all inputs, from the left."""
    result: Rows = inputs[0]
    names = types[0].schema.names
    for rows, type_ in zip(inputs[1:], types[1:], strict=True):
        result, names = _natural_join(result, names, rows, type_.schema.names)
    return result


@means(ops.JoinDelta)
def join_delta(op: ops.JoinDelta, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """Σᵢ (a₁ + Δa₁) ⋈ … ⋈ Δaᵢ ⋈ … ⋈ aₙ."""
    olds, deltas = inputs[::2], inputs[1::2]
    news = [old + delta for old, delta in zip(olds, deltas, strict=True)]
    total: Rows = ZSet()
    for i, delta in enumerate(deltas):
        total = total + join(ops.Join(), [*news[:i], delta, *olds[i + 1 :]], types[1::2])
    return total


def _natural_join(left: Rows, left_names: Names, right: Rows, right_names: Names) -> tuple[Rows, Names]:
    shared = [n for n in left_names if n in right_names]
    extra = [i for i, n in enumerate(right_names) if n not in left_names]
    joined = left.join(
        right,
        picker([left_names.index(n) for n in shared]),
        picker([right_names.index(n) for n in shared]),
        lambda row, other: row + tuple(other[i] for i in extra),
    )
    return joined, left_names + tuple(right_names[i] for i in extra)


def picker(positions: Sequence[int]) -> Callable[[Row], Row]:
    """Return a function that returns the values of a row at these positions."""
    return lambda row: tuple(row[i] for i in positions)


@means(ops.Antijoin)
def antijoin(op: ops.Antijoin, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows of the first input that have no match in the second on the second's columns."""
    names, right_names = types[0].schema.names, types[1].schema.names
    pick = picker([names.index(n) for n in right_names])
    result: Rows = inputs[0].antijoin(inputs[1], pick, lambda row: row)
    return result


@means(ops.AntijoinDelta)
def antijoin_delta(op: ops.AntijoinDelta, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """Δa ▷ (b + Δb) − a ⋈ Δb."""
    left, left_delta, right, right_delta = inputs
    kept: Rows = antijoin(ops.Antijoin(), [left_delta, right + right_delta], types[1::2])
    lost: Rows = join(ops.Join(), [left, right_delta], types[1::2])
    return kept - lost


@means(ops.Semijoin)
def semijoin(op: ops.Semijoin, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows of the first input that have a match in the second on the second's columns."""
    left, right = inputs
    pick = picker([types[0].schema.names.index(name) for name in types[1].schema.names])
    result: Rows = left.filter(lambda row: right.weight(pick(row)) > 0)
    return result
