"""Constants: from Python values to trees, and which trees are such constants."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from deltic.circuit.expressions.casts import cast, cast_type
from deltic.circuit.types import Kind, Type


def literal(value: Any, type_: Type) -> exp.Expression:
    """A constant of a type: an int, float, str, bool, Decimal, date or datetime of Python.

    Decimals, dates and times are casts of their texts.
    """
    if type_ is Type.STRING:
        return exp.Literal.string(value)
    if type_ is Type.BOOLEAN:
        return exp.Boolean(this=value)
    if type_.kind in (Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return cast(exp.Literal.string(str(value)), type_)
    magnitude = exp.Literal.number(repr(abs(value)))
    number = exp.Neg(this=magnitude) if value < 0 else magnitude
    return number if type_ is Type.INT64 else cast(number, type_)


def is_literal(expression: exp.Expression) -> bool:
    """Whether the expression is a constant that is surely defined; other casts of constants are computed."""
    if isinstance(expression, exp.TryCast):
        target = cast_type(expression)
        return _is_number(expression.this) and (target.is_float or (target.is_integer and expression.this.is_int))
    return isinstance(expression, exp.Literal | exp.Boolean) or _is_number(expression)


def _is_number(expression: exp.Expression) -> bool:
    if isinstance(expression, exp.Neg):
        return isinstance(expression.this, exp.Literal) and expression.this.is_number
    return isinstance(expression, exp.Literal) and expression.is_number


def is_literal_zero(expression: exp.Expression) -> bool:
    """Whether the expression is a constant zero as `literal` writes it."""
    if isinstance(expression, exp.Neg | exp.TryCast):
        return is_literal_zero(expression.this)
    return isinstance(expression, exp.Literal) and not expression.is_string and float(expression.this) == 0
