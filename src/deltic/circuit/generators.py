"""The functions of flatmap: from the values of a row to any number of values of a new column.

They have names, so that a circuit can be printed and parsed; a name that DuckDB has, too, means the same.
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
    """The argument types that a generator accepts, all overloads, and the type of the values that it yields.

    `yields_sets`: it never yields a value twice.
    """

    takes: tuple[tuple[Type, ...], ...]
    type: Type
    yields_sets: bool
    values: Callable[..., Iterable[Any]]

    def accepts(self, types: Sequence[Type]) -> bool:
        """Return whether it takes arguments of these types."""
        return tuple(types) in self.takes


def generate(name: str, arguments: Sequence[Any]) -> Iterable[Any]:
    """Return the values that the generator of that name yields for these arguments."""
    return () if any(argument is None for argument in arguments) else GENERATORS[name].values(*arguments)


def _range(start: int, stop: int, step: int = 1) -> Iterable[int]:
    """start, start + step, … before stop, downward where the step is negative; nothing for a step of zero."""
    return range(start, stop, step) if step else ()


def _unsigned_range(start: int, stop: int, step: int | None = None) -> Iterable[int]:
    """Soufflé's range: without a step it counts by one, up or down; with a step of zero it is start alone."""
    step = step if step is not None else 1 if start <= stop else -1
    return range(start, stop, step) if step else (start,) * (start != stop)


def _float_range(start: float, stop: float, step: float | None = None) -> Iterable[float]:
    """As `_unsigned_range`, for floats: each value is the previous one plus the step, rounded as in Soufflé.

    Nothing where a number is not finite, or the step is too small to change start or stop.
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


GENERATORS: dict[str, Generator] = {
    "range": Generator(((Type.INT64,) * 2, (Type.INT64,) * 3), Type.INT64, True, _range),
    "range_unsigned": Generator(((Type.UINT64,) * 2, (Type.UINT64,) * 3), Type.UINT64, True, _unsigned_range),
    "range_float": Generator(((Type.FLOAT64,) * 2, (Type.FLOAT64,) * 3), Type.FLOAT64, True, _float_range),
    # The parts between the separators; the characters where the separator is empty.
    "string_split": Generator(
        ((Type.STRING, Type.STRING),), Type.STRING, False, lambda t, by: t.split(by) if by else list(t) or [""]
    ),
}
