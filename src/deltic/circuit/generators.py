"""The functions of flatmap: from the values of a row to the values of a new column, several, one or none.

They are named, so that a circuit can be printed and read, and each that DuckDB has by its name has the meaning of that.
An argument that is NULL yields nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from deltic.values.types import Type


@dataclass(frozen=True)
class Generator:
    """The types of the arguments that it takes, in all ways it takes them, and of the values that it yields.

    `yields_sets` says that it never yields a value twice.
    """

    takes: tuple[tuple[Type, ...], ...]
    type: Type
    yields_sets: bool
    values: Callable[..., Iterable[Any]]

    def accepts(self, types: Sequence[Type]) -> bool:
        """Whether it takes arguments of these types."""
        return tuple(types) in self.takes


def generate(name: str, arguments: Sequence[Any]) -> Iterable[Any]:
    """The values that the generator of that name yields for these arguments."""
    return () if any(argument is None for argument in arguments) else GENERATORS[name].values(*arguments)


def _range(start: int, stop: int, step: int = 1) -> Iterable[int]:
    """start, start + step, … before stop, downward where the step is negative; nothing for a step of zero."""
    return range(start, stop, step) if step else ()


def _unsigned_range(start: int, stop: int, step: int | None = None) -> Iterable[int]:
    """As Soufflé has it: by steps of one, up or down, where none is given; start alone for a step of zero."""
    step = step if step is not None else 1 if start <= stop else -1
    return range(start, stop, step) if step else (start,) * (start != stop)


def _float_range(start: float, stop: float, step: float | None = None) -> Iterable[float]:
    """As `_unsigned_range`; each value is the sum of the one before and the step, as Soufflé rounds it.

    Nothing where a number is not finite, or the step too small to be added to start or stop.
    """
    step = step if step is not None else 1.0 if start <= stop else -1.0
    if not all(map(math.isfinite, (start, stop, step))) or (step and (start + step == start or stop + step == stop)):
        return
    value = start
    while value < stop if step > 0 else value > stop if step < 0 else value != stop:
        yield value
        if not step:
            return
        value += step


def _string_split(text: str, separator: str) -> Iterable[str]:
    """The parts between the separators; the characters where the separator is empty."""
    return text.split(separator) if separator else list(text) or [""]


GENERATORS: dict[str, Generator] = {
    "range": Generator(((Type.INT64,) * 2, (Type.INT64,) * 3), Type.INT64, True, _range),
    "range_unsigned": Generator(((Type.UINT64,) * 2, (Type.UINT64,) * 3), Type.UINT64, True, _unsigned_range),
    "range_float": Generator(((Type.FLOAT64,) * 2, (Type.FLOAT64,) * 3), Type.FLOAT64, True, _float_range),
    "string_split": Generator(((Type.STRING, Type.STRING),), Type.STRING, False, _string_split),
}
