"""Times of a day: casts, moves by intervals and differences."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from deltic.functions.calendar import SECOND
from deltic.sql.scalars import operators
from deltic.sql.scalars.coercion import coerced, converted
from deltic.sql.scalars.folding import folded
from deltic.sql.scalars.functions.rules import apply, attempt, plain
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, applied, attempted, constant
from deltic.values.types import Kind, Type

_LONG = Type.INT64
_INSTANTS = (Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
MOST_DIGITS = 6
"""The most digits of a second's fraction."""


def micros_of(clock: Typed) -> Typed:
    """The microseconds since midnight."""
    return plain("unix_micros", [apply("instant_of_clock", clock)])


def clock_cast(type_: exp.DataType, value: Typed, target: Type, is_safe: bool) -> Typed | None:
    """A time of a day as a number of seconds, or what is cast to one; None for other casts."""
    source, convert = value.type.type, converted if is_safe else coerced
    if source is Type.TIME and (target.is_integer or target.kind is Kind.DECIMAL):
        unit, kind = (SECOND, exp.IntDiv) if target.is_integer else (Decimal("0.000001"), exp.Mul)
        second = constant(unit, _LONG if target.is_integer else Type.decimal(6, 6))
        return convert(operators.arithmetic(kind, micros_of(value), second), target)
    if target is not Type.TIME or value.is_null or source not in (Type.STRING, Type.TIME, *_INSTANTS):
        return None
    clock = apply("clock_of_time", value) if source in _INSTANTS else convert(value, target)
    cut = MOST_DIGITS - (int(type_.expressions[0].name) if type_.expressions else MOST_DIGITS)
    return attempt("clock_floor", clock, constant(10**cut, _LONG)) if cut > 0 else clock


def arithmetic(kind: type[exp.Expression], left: Typed, right: Typed, apply: operators.Apply = applied) -> Typed:
    """An operation over numbers, times and intervals; `apply` decides about undefined ones."""
    if Type.TIME in (left.type.type, right.type.type):
        return _moved(kind, left, right, apply is attempted)
    return folded(operators.arithmetic(kind, left, right, apply))


def _moved(kind: type[exp.Expression], left: Typed, right: Typed, is_tried: bool) -> Typed:
    """A time of a day moved by an interval of days to seconds, or the interval between two."""
    if kind is exp.Add and right.type.type is Type.TIME:
        left, right = right, left
    if left.type.type is not Type.TIME or kind not in (exp.Add, exp.Sub):
        raise Mismatch("a TIME is moved by an INTERVAL of hours to seconds")
    if right.type.type is Type.TIME and kind is exp.Sub:
        span = operators.arithmetic(exp.Sub, micros_of(left), micros_of(right))
        return replace(apply("interval_of_microseconds", span), fields=("HOUR", "SECOND"))
    if right.type.type is not Type.DAY_TIME_INTERVAL:
        raise Mismatch("a TIME is moved by an INTERVAL of hours to seconds")
    micros = operators.arithmetic(kind, micros_of(left), apply("units_of_interval", right))
    return (attempt if is_tried else apply)("clock_of_micros", micros)
