"""The multilinear operators, the natural join, the antijoin and the semijoin, and their changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Operator, change_of, changes
from deltic.values.types import Column, Schema


class Join(Operator):
    """The n-ary natural join on shared column names, weights multiplied; a product where none is shared.

    NULL equals NULL here, and in every other operator that compares rows.
    """

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        zsets = self.zsets(inputs)
        columns: dict[str, Column] = {}
        for column in (c for z in zsets for c in z.schema):
            same = columns.setdefault(column.name, column)
            if same.type is not column.type:
                self.refuse(f"column {column.name} has two types", inputs)
            columns[column.name] = replace(same, nullable=same.nullable and column.nullable)
        return ZSetType(Schema(tuple(columns.values())), all(z.is_set for z in zsets), zsets[0].depth)


class Antijoin(Operator):
    """The rows of the first input that have no match in the second, a set, on the second's columns."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return _left_of(self, inputs)


class JoinDelta(Operator):
    """(a₁ + Δa₁) ⋈ … ⋈ (aₙ + Δaₙ) − a₁ ⋈ … ⋈ aₙ as a sum with one change in each term [DBSP Thm 4.5].

    Its inputs are a₁, Δa₁, …, aₙ, Δaₙ.
    """

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return change_of(Join().output(changes(self, inputs), depth))


class AntijoinDelta(Operator):
    """(a + Δa) ▷ (b + Δb) − a ▷ b as Δa ▷ (b + Δb) − a ⋈ Δb, for sets b and b + Δb; its inputs are a, Δa, b, Δb."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        left, right = changes(self, self.zsets(inputs, 4))
        return change_of(Antijoin().output((left, replace(right, is_set=True)), depth))


class Semijoin(Operator):
    """a ⋉ b: the rows of the first input that have a match in the second, a set, on the second's columns.

    It equals the join of both: a set over columns of the first input leaves weights and columns unchanged.
    """

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        left, type_ = _left_of(self, inputs), Join().output(inputs, depth)
        assert isinstance(type_, ZSetType)
        return replace(type_, is_set=left.is_set)


def _left_of(operator: Operator, inputs: Sequence[EdgeType]) -> ZSetType:
    """Return the first input; raises CircuitError unless the second is a set over columns of it."""
    left, right = operator.zsets(inputs, 2)
    if not right.is_set:
        operator.refuse("its second input must be a set; put a distinct before it", inputs)
    for column in right.schema:
        if left.schema.types.get(column.name) is not column.type:
            operator.refuse(f"column {column} of the second input is not in the first", inputs)
    return left
