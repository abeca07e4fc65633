"""Bitwise AND, OR and XOR of integers, in two's complement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, register
from deltic.values.numbers import wrap
from deltic.values.types import Type


class Bits(Accumulator):
    """A bitwise aggregate: a result bit depends only on how many values have that bit set.

    `has` says whether it is set when `number` of `count` values have it set; it takes numbers or arrays of them.
    """

    keeps = "totals, one for each bit"

    def __init__(self, name: str, has: Callable[[Any, Any], Any], of_sets: bool) -> None:
        self.name, self.has, self.of_sets = name, has, of_sets

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].is_integer

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        (type_,) = types
        count = sum(totals.values())
        held = [sum(w for value, w in totals.items() if value >> bit & 1) for bit in range(type_.bits)]
        return wrap(sum(1 << bit for bit, number in enumerate(held) if self.has(number, count)), type_)


register(
    Bits("bit_and", lambda number, count: number >= count, of_sets=True),
    Bits("bit_or", lambda number, count: number > 0, of_sets=True),
    Bits("bit_xor", lambda number, count: number % 2 == 1, of_sets=False),
)
