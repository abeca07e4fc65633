"""Cycles: a back-edge leads from a `Close` to the `BackEdge` of the same name, which is a z⁻¹ [DBSP §9.4.4]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Clocked, NamedOperator
from deltic.values.types import Schema
from deltic.values.words import word


@dataclass(frozen=True)
class BackEdge(Clocked):
    """z⁻¹ of the input of the `Close` of the same name in the same circuit; zero at first.

    `is_set` requires that input to be a set.
    """

    keyword: ClassVar[str] = "back_edge"
    rule: ClassVar[str] = "§9.4.4 back-edge"
    name: str
    schema: Schema
    is_set: bool = False

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        self.zsets(inputs, 0)
        self.check_clock(inputs, depth)
        return ZSetType(self.schema, self.is_set, depth)

    def arguments(self) -> str:
        return f"{word(self.name)} {super().arguments()}".rstrip()


@dataclass(frozen=True)
class Close(NamedOperator):
    """The start of a back-edge: the `BackEdge` of its name outputs the input of this node one step later."""

    keyword: ClassVar[str] = "close"
    rule: ClassVar[str] = "§9.4.4 back-edge"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return self.zsets(inputs, 1)[0]
