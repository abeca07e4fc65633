"""The stream operators that incrementalization introduces [DBSP §3, §6.1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Clocked, Operator


@dataclass(frozen=True)
class Integrate(Clocked):
    """I: the sum of all changes so far [DBSP Def. 3.27]; `is_set` when the sum is a set."""

    keyword: ClassVar[str] = "integrate"
    is_set: bool = False

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        self.check_clock(inputs, depth)
        return ZSetType(source.schema, self.is_set, source.depth)


@dataclass(frozen=True)
class Differentiate(Clocked):
    """D: the difference between the current and the previous value of a stream [DBSP Def. 3.25]."""

    keyword: ClassVar[str] = "differentiate"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        self.check_clock(inputs, depth)
        return ZSetType(source.schema, False, source.depth)


@dataclass(frozen=True)
class Delay(Clocked):
    """z⁻¹: the value of the previous step, zero at first [DBSP Def. 3.4]."""

    keyword: ClassVar[str] = "delay"
    rule: ClassVar[str] = "§9.4.2 delay node"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        self.check_clock(inputs, depth)
        return self.zsets(inputs, 1)[0]


@dataclass(frozen=True)
class DistinctDelta(Operator):
    """H(i, d) = distinct(i + d) − distinct(i), computed on the support of d alone [DBSP Prop. 6.12]."""

    keyword: ClassVar[str] = "distinct_delta"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        old, delta = self.zsets(inputs, 2)
        if old.schema != delta.schema:
            self.refuse("both inputs must have one schema", inputs)
        return ZSetType(delta.schema, False, delta.depth)
