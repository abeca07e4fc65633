"""An identity node that engines materialize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deltic.circuit.edges import EdgeType
from deltic.circuit.operators.base import Operator
from deltic.values.words import word


@dataclass(frozen=True)
class Keep(Operator):
    """Its input, which engines materialize as a relation; it is called `name` unless that name is taken.

    Without it a join, a map or a sum is computed within each query that reads it.
    """

    keyword: ClassVar[str] = "keep"
    name: str

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return self.zsets(inputs, 1)[0]

    def arguments(self) -> str:
        return word(self.name)
