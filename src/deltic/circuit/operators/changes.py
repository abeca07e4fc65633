"""The input and output types of delta operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Operator


def changes(operator: Operator, inputs: Sequence[EdgeType]) -> list[ZSetType]:
    """The types of the changes among inputs a₁, Δa₁, …, aₙ, Δaₙ; raises CircuitError where they are not such pairs."""
    zsets = operator.zsets(inputs)
    pairs = list(zip(zsets[::2], zsets[1::2], strict=False))
    if 2 * len(pairs) != len(zsets) or any(old.schema != delta.schema for old, delta in pairs):
        operator.refuse("takes pairs of a value and its change, of one schema each", inputs)
    return [delta for _, delta in pairs]


def change_of(type_: EdgeType) -> ZSetType:
    """The type of a change of a value of this type: the same Z-set type, not a set."""
    assert isinstance(type_, ZSetType)
    return replace(type_, is_set=False)


def delta_of(operator: Operator, inputs: Sequence[EdgeType]) -> ZSetType:
    """The type of d among inputs i and d; raises CircuitError where their schemas differ."""
    old, delta = operator.zsets(inputs, 2)
    if old.schema != delta.schema:
        operator.refuse("both inputs must have one schema", inputs)
    return delta
