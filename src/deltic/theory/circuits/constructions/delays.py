"""Explicit delays, and windows of a fixed number of steps [DBSP §8.3, §8.5]."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder

Part = Callable[[CircuitBuilder, int], int]
"""A circuit of one input that a builder adds: from the number of a node to that of another."""


def delayed(builder: CircuitBuilder, number: int, steps: int) -> int:
    """z⁻ᵏ: the stream of a node `steps` steps ago, zero before; the node itself for 0. It keeps `steps` values."""
    for _ in range(steps):
        number = builder.add(ops.Delay(), number)
    return number


def convolution(builder: CircuitBuilder, number: int, parts: Sequence[Part]) -> int:
    """Σᵢ Tᵢ(z⁻ⁱ(s)), the parts for the newest step first: a convolution filter, an aggregate of the last steps.

    For linear parts it is its own derivative.
    """
    return builder.add(ops.Plus(), *(part(builder, delayed(builder, number, i)) for i, part in enumerate(parts)))


def last_steps(builder: CircuitBuilder, number: int, steps: int) -> int:
    """How a relation has changed in the last `steps` steps: a − z⁻ᵏ(a).

    For a relation to which rows are only added these are the rows of a sliding window of the last `steps` epochs. It is
    linear, so that its change is Δa − z⁻ᵏ(Δa): what enters the window less what leaves it, and it keeps the changes
    of `steps` epochs, not the relation.
    """
    return builder.add(ops.Plus(), number, builder.add(ops.Negate(), delayed(builder, number, steps)))
