"""The runtime of compiled functions: DDlog's arithmetic where it differs from Python's, and updates of parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from deltic.errors import EvaluationError
from deltic.values.numbers import round_float
from deltic.values.types import Type


def quotient(a: int, b: int) -> int:
    """a / b, cut towards zero."""
    if b == 0:
        raise EvaluationError(f"{a} / 0 has no value")
    result = abs(a) // abs(b)
    return result if (a < 0) == (b < 0) else -result


def remainder(a: int, b: int) -> int:
    """Return what is left of a / b, with the sign of a."""
    if b == 0:
        raise EvaluationError(f"{a} % 0 has no value")
    result = abs(a) % abs(b)
    return -result if a < 0 else result


def divided(a: float, b: float) -> float:
    """a / b by IEEE 754."""
    if b:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def single(value: float) -> float:
    """Return the number of 32 bits that is nearest."""
    return round_float(value, Type.FLOAT32)


def truncated(value: float, low: int, high: int) -> int:
    """Return the integer of a float towards zero, at most and at least those of a type; 0 of what is no number."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


def integer(value: float) -> int:
    """Return the integer of a float towards zero; 0 of what is none."""
    return math.trunc(value) if math.isfinite(value) else 0


def with_item(value: tuple[Any, ...], place: int, item: Any) -> Any:
    """Return a tuple or a structure with another item at a place."""
    return tuple.__new__(type(value), (*value[:place], item, *value[place + 1 :]))


def with_path(value: tuple[Any, ...], path: Sequence[int], item: Any) -> Any:
    """Return the same where the item is in an item, and so on."""
    first, *rest = path
    return with_item(value, first, with_path(value[first], rest, item) if rest else item)
