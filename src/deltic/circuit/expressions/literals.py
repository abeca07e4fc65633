"""Constants: trees for Python values, and tests for such trees."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions.casts import cast, cast_type
from deltic.values.text import of_exact_text
from deltic.values.types import Kind, Type

INTERVAL_UNITS = {"MONTH": Type.YEAR_MONTH_INTERVAL, "MICROSECOND": Type.DAY_TIME_INTERVAL}
"""The units in which intervals are written."""

_MICROSECOND = timedelta(microseconds=1)


def literal(value: Any, type_: Type) -> exp.Expression:
    """Return a constant of a type from a Python int (also for months), float, str, bool, Decimal, date, time or
    timedelta.

    Decimals, dates and times are casts of their texts.
    """
    if type_ in INTERVAL_UNITS.values():
        unit = next(unit for unit, of in INTERVAL_UNITS.items() if of is type_)
        number = value if isinstance(value, int) else value // _MICROSECOND
        return exp.Interval(this=exp.Literal.string(str(number)), unit=exp.Var(this=unit))
    if type_ is Type.STRING:
        return exp.Literal.string(value)
    if type_ is Type.BOOLEAN:
        return exp.Boolean(this=value)
    if type_.kind in (Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.TIME):
        text = f"{value:f}" if type_.kind is Kind.DECIMAL else str(value)
        return cast(exp.Literal.string(text), type_)
    magnitude = exp.Literal.number(repr(abs(value)))
    number = exp.Neg(this=magnitude) if value < 0 else magnitude
    return number if type_ is Type.INT64 else cast(number, type_)


def is_literal(expression: exp.Expression) -> bool:
    """Return whether the expression is a constant that is certainly defined; other casts of constants are computed."""
    if isinstance(expression, exp.TryCast):
        target = cast_type(expression)
        if isinstance(expression.this, exp.Literal) and expression.this.is_string:
            return written_value(expression) is not None
        return _is_number(expression.this) and (target.is_float or (target.is_integer and expression.this.is_int))
    return isinstance(expression, exp.Literal | exp.Boolean | exp.Interval) or _is_number(expression)


def written_value(expression: exp.Expression) -> Any:
    """Return the decimal, date or time that `literal` writes so; None for other expressions."""
    if isinstance(expression, exp.TryCast) and isinstance(expression.this, exp.Literal) and expression.this.is_string:
        return of_exact_text(expression.this.this, cast_type(expression))
    return None


def _is_number(expression: exp.Expression) -> bool:
    if isinstance(expression, exp.Neg):
        return isinstance(expression.this, exp.Literal) and expression.this.is_number
    return isinstance(expression, exp.Literal) and expression.is_number


def is_literal_zero(expression: exp.Expression) -> bool:
    """Return whether the expression is a constant zero as `literal` writes it."""
    if isinstance(expression, exp.Neg | exp.TryCast):
        return is_literal_zero(expression.this)
    if not isinstance(expression, exp.Literal):
        return False
    return not expression.this.strip("0.-") if expression.is_string else float(expression.this) == 0
