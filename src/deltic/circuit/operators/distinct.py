"""Duplicate elimination."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Operator


class Distinct(Operator):
    """The rows of positive weight, each with weight one [DBSP Def. 6.3]."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        return ZSetType(source.schema, True, source.depth)
