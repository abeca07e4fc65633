"""The semijoin: the rows that have a match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Operator
from deltic.circuit.operators.join import Join


@dataclass(frozen=True)
class Semijoin(Operator):
    """a ⋉ b: the rows of the first input that have a match in the second, a set, on the second's columns.

    It equals the join of both: a set over columns of the first input leaves weights and columns unchanged.
    """

    keyword: ClassVar[str] = "semijoin"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        left, right = self.zsets(inputs, 2)
        if not right.is_set:
            self.refuse("its second input must be a set; put a distinct before it", inputs)
        for column in right.schema:
            if left.schema.types.get(column.name) is not column.type:
                self.refuse(f"column {column} of the second input is not in the first", inputs)
        type_ = Join().output(inputs, depth)
        assert isinstance(type_, ZSetType)
        return replace(type_, is_set=left.is_set)
