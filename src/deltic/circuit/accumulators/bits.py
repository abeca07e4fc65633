"""Bitwise AND, OR and XOR of integers, in two's complement."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.values.numbers import wrap
from deltic.values.types import Type


class Bits(Accumulator):
    """A bitwise aggregate: a result bit depends only on how many values have that bit set."""

    keeps = "totals, one for each bit"

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].is_integer

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        (type_,) = types
        count = sum(totals.values())
        held = [sum(w for value, w in totals.items() if value >> bit & 1) for bit in range(type_.bits)]
        return wrap(sum(1 << bit for bit, number in enumerate(held) if self.has(number, count)), type_)

    @abstractmethod
    def has(self, number: Any, count: Any) -> Any:
        """Whether a result bit is set when `number` of `count` values have it set; takes numbers or arrays of them."""


@accumulator
class BitAnd(Bits):
    """The bits that all values have."""

    name = "bit_and"
    of_sets = True

    def has(self, number: Any, count: Any) -> Any:
        return number >= count


@accumulator
class BitOr(Bits):
    """The bits that some value has."""

    name = "bit_or"
    of_sets = True

    def has(self, number: Any, count: Any) -> Any:
        return number > 0


@accumulator
class BitXor(Bits):
    """The bits that an odd number of values have."""

    name = "bit_xor"

    def has(self, number: Any, count: Any) -> Any:
        return number % 2 == 1
