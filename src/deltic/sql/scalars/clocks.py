"""Casts of times of a day."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from deltic.functions.calendar import SECOND
from deltic.sql.scalars.coercion import coerced, converted
from deltic.sql.scalars.functions.rules import apply, attempt
from deltic.sql.scalars.operators import arithmetic, micros_of
from deltic.sql.scalars.typed import Typed, constant
from deltic.values.types import Kind, Type

_LONG = Type.INT64
_INSTANTS = (Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
MOST_DIGITS = 6
"""The most digits of a second's fraction."""


def clock_cast(type_: exp.DataType, value: Typed, target: Type, is_safe: bool) -> Typed | None:
    """Return a time of a day as a number of seconds, or what is cast to one; None for other casts."""
    source, convert = value.type.type, converted if is_safe else coerced
    if source is Type.TIME and (target.is_integer or target.kind is Kind.DECIMAL):
        unit, kind = (SECOND, exp.IntDiv) if target.is_integer else (Decimal("0.000001"), exp.Mul)
        second = constant(unit, _LONG if target.is_integer else Type.decimal(6, 6))
        return convert(arithmetic(kind, micros_of(value), second), target)
    if target is not Type.TIME or value.is_null or source not in (Type.STRING, Type.TIME, *_INSTANTS):
        return None
    clock = apply("clock_of_time", value) if source in _INSTANTS else convert(value, target)
    cut = MOST_DIGITS - (int(type_.expressions[0].name) if type_.expressions else MOST_DIGITS)
    return attempt("clock_floor", clock, constant(10**cut, _LONG)) if cut > 0 else clock
