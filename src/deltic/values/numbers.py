"""Numbers as values of numeric types."""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from deltic.values.types import Kind, Type

EXACT = Context(prec=80, rounding=ROUND_HALF_UP)
"""A decimal context with room for the exact product of any two decimals; it rounds half away from zero."""


def wrap(value: int, type_: Type) -> int:
    """Return an integer reduced to the bits of an integer type, in two's complement."""
    value &= (1 << type_.bits) - 1
    return value - (1 << type_.bits) if type_.signed and value >> type_.bits - 1 else value


def convert_number(value: Any, source: Type, target: Type) -> Any:
    """Return a number as another numeric type: integers keep their low bits, other numbers lose their fraction.

    None where the result does not fit into the target.
    """
    if target.is_float:
        return round_float(float(value), target)
    if target.kind is Kind.DECIMAL:
        return to_decimal(Decimal(repr(value)) if source.is_float else value, target)
    if source.is_integer:
        return wrap(value, target)
    least, greatest = target.range
    return int(value) if least <= value < greatest + 1 else None


def to_decimal(value: Decimal | int, type_: Type) -> Decimal | None:
    """Return the nearest decimal of the type, half away from zero; None where it has too many digits."""
    exact = Decimal(value)
    if not exact.is_finite() or exact.adjusted() > 2 * type_.precision:
        return None
    rounded = EXACT.add(EXACT.quantize(exact, Decimal(1).scaleb(-type_.scale)), Decimal(0))
    return rounded if rounded.adjusted() < type_.precision - type_.scale or not rounded else None


def round_float(value: float, type_: Type) -> float:
    """Return the nearest float of the type, infinite beyond its range; always the same NaN object."""
    if math.isnan(value):
        return math.nan
    if type_ is Type.FLOAT64:
        return value
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
        return single
    except OverflowError:
        return math.copysign(math.inf, value)
