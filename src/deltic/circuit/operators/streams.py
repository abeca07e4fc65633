"""The stream operators that incrementalization introduces [DBSP §3, §6.1], and cycles.

In a cycle a back-edge leads from a `Close` to the `BackEdge` of the same name, which is a z⁻¹ [DBSP §9.4.4].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Clocked, NamedOperator, Operator, change_of, delta_of
from deltic.values.types import Schema
from deltic.values.words import word


class Integrate(Clocked):
    """I: the sum of all changes so far [DBSP Def. 3.27]; `is_set` when the sum is a set."""

    is_set: bool = False

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        self.check_clock(inputs, depth)
        return ZSetType(source.schema, self.is_set, source.depth)


class Differentiate(Clocked):
    """D: the difference between the current and the previous value of a stream [DBSP Def. 3.25]."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        self.check_clock(inputs, depth)
        return ZSetType(source.schema, False, source.depth)


class Delay(Clocked):
    """z⁻¹: the value of the previous step, zero at first [DBSP Def. 3.4]."""

    rule: ClassVar[str] = "§9.4.2 delay node"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        self.check_clock(inputs, depth)
        return self.zsets(inputs, 1)[0]


class DistinctDelta(Operator):
    """H(i, d) = distinct(i + d) − distinct(i), computed on the support of d alone [DBSP Prop. 6.12]."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return change_of(delta_of(self, inputs))


class BackEdge(Clocked):
    """z⁻¹ of the input of the `Close` of the same name in the same circuit; zero at first.

    `is_set` requires that input to be a set.
    """

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


class Close(NamedOperator):
    """The start of a back-edge: the `BackEdge` of its name outputs the input of this node one step later."""

    rule: ClassVar[str] = "§9.4.4 back-edge"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return self.zsets(inputs, 1)[0]
