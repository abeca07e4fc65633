"""Casts between intervals and numbers, and of texts to intervals.

A number counts the last field that the interval's type names, as in Spark: CAST(INTERVAL '90' MINUTE AS INT) is 90. The
types of circuits name none, so that the field is found where the interval is written.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from deltic.functions.intervals import UNITS, between
from deltic.sql.scalars import operators
from deltic.sql.scalars.coercion import coerced, converted
from deltic.sql.scalars.functions.rules import apply, attempt
from deltic.sql.scalars.operators import INTERVALS, Mismatch
from deltic.sql.scalars.typed import Typed, applied, attempted, constant
from deltic.values.types import Kind, Type

Of = Callable[[exp.Expression], Typed]

_LONG = Type.INT64
_TIMES = {Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ}


def is_interval_cast(operand: Typed, target: Type) -> bool:
    """Whether a cast is one of these."""
    source = operand.type.type
    if operand.is_null or source is target:
        return False
    if source in INTERVALS:
        return _counts(target)
    return target in INTERVALS and (_counts(source) or source is Type.STRING)


def _counts(type_: Type) -> bool:
    return type_.is_integer or type_.kind is Kind.DECIMAL


def interval_cast(node: exp.Expression, operand: Typed, target: Type, is_safe: bool, of: Of) -> Typed:
    """The cast of an interval to a number, or of a number or a text to an interval; NULL for none if it is safe.

    `of` gives the value of an expression.
    """
    if target in INTERVALS:
        first, last = _fields(node.args["to"].this.args["unit"])
        read = _of_text if operand.type.type is Type.STRING else _of_number
        return read(operand, target, first, last, is_safe)
    last = _last_field(node.this, of)
    units = apply("units_of_interval", operand)
    if last == "SECOND" and target.kind is Kind.DECIMAL:
        found = operators.arithmetic(exp.Mul, units, constant(Decimal("0.000001"), Type.decimal(6, 6)))
    else:
        found = operators.arithmetic(exp.IntDiv, units, constant(UNITS[last], _LONG))
    return (converted if is_safe else coerced)(found, target)


def _of_text(text: Typed, target: Type, first: str, last: str, is_safe: bool) -> Typed:
    name = "read_months" if target is Type.YEAR_MONTH_INTERVAL else "read_span"
    return (attempt if is_safe else apply)(name, text, *(constant(field, Type.STRING) for field in (first, last)))


def _of_number(number: Typed, target: Type, first: str, last: str, is_safe: bool) -> Typed:
    of_one = "interval_of_months" if target is Type.YEAR_MONTH_INTERVAL else "interval_of_microseconds"
    if number.type.type.is_integer:
        unit = constant(UNITS[last], _LONG)
        units = operators.arithmetic(exp.Mul, coerced(number, _LONG), unit, attempted if is_safe else applied)
        return (attempt if is_safe else apply)(of_one, units)
    span = apply(of_one, constant(UNITS[last], _LONG))
    return (attempt if is_safe else apply)("times", span, number)


def _fields(unit: exp.Expression) -> tuple[str, str]:
    """The first and the last field that a type or a literal names."""
    parts = [unit.this, unit.expression] if isinstance(unit, exp.IntervalSpan) else [unit, unit]
    first, last = (part.name.upper().removesuffix("S") for part in parts)
    return first, last


def _last_field(node: exp.Expression, of: Of) -> str:
    """The last field of the type of an interval, which is written as one, or is made of what has all fields."""
    if isinstance(node, exp.Neg | exp.Paren):
        return _last_field(node.this, of)
    if isinstance(node, exp.Cast) and isinstance(node.args["to"].this, exp.Interval):
        return _fields(node.args["to"].this.args["unit"])[1]
    if isinstance(node, exp.Interval) and node.args.get("unit") is not None:
        last = _fields(node.args["unit"])[1]
        if between(last, last):
            return last
    if isinstance(node, exp.Anonymous) and node.name.lower() in _MADE:
        return _MADE[node.name.lower()]
    if isinstance(node, exp.Sub) and not (types := {of(node.this).type.type, of(node.expression).type.type}) - _TIMES:
        return "DAY" if types == {Type.DATE} else "SECOND"
    if isinstance(node, exp.Column):
        raise Mismatch("a column of intervals does not say which field is counted: write extract(DAY FROM i)")
    raise Mismatch("the number counts a field of the interval: write an INTERVAL, a CAST to one, or a difference")


_MADE = {"make_dt_interval": "SECOND", "make_ym_interval": "MONTH"}
