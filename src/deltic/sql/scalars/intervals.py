"""Casts of intervals and times of a day: between several fields, and from and to numbers or texts; make_interval.

A number counts the last field that the interval's type names, as in Spark: CAST(INTERVAL '90' MINUTE AS INT) is 90. The
types of circuits name none: an expression knows its fields, see `Typed`, and a column of a table has all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from deltic.circuit.expressions import is_literal
from deltic.functions.calendar import SECOND
from deltic.functions.intervals import UNITS
from deltic.sql.scalars import operators
from deltic.sql.scalars.coercion import coerced, converted
from deltic.sql.scalars.functions.rules import apply, attempt, brought, to
from deltic.sql.scalars.operators import ALL_FIELDS, INTERVALS, Mismatch
from deltic.sql.scalars.typed import Fields, Typed, applied, attempted, constant
from deltic.values.types import Kind, Type

_LONG = Type.INT64


def _is_interval_cast(operand: Typed, target: Type) -> bool:
    source = operand.type.type
    if operand.is_null:
        return target in INTERVALS
    if source in INTERVALS:
        return _counts(target) or target is source
    return target in INTERVALS and (_counts(source) or source is Type.STRING)


def _counts(type_: Type) -> bool:
    return type_.is_integer or type_.kind is Kind.DECIMAL


def interval_cast(type_: exp.DataType, operand: Typed, target: Type, is_safe: bool) -> Typed | None:
    """Return the cast of an interval to a number or to other fields, or of a number or a text to one; None for other
    casts.

    If it `is_safe` it is NULL where there is no such value.
    """
    if not _is_interval_cast(operand, target):
        return None
    if target in INTERVALS:
        first, last = _fields(type_.this.args["unit"])
        if operand.is_null:
            return replace(coerced(operand, target), modifier=(first, last))
        if operand.type.type is target:
            return replace(_cut(operand, last), modifier=(first, last))
        read = _of_text if operand.type.type is Type.STRING else _of_number
        return replace(read(operand, target, first, last, is_safe), modifier=(first, last))
    last = _last_field(operand)
    units = apply("units_of_interval", operand)
    if last == "SECOND" and target.kind is Kind.DECIMAL:
        result = operators.arithmetic(exp.Mul, units, constant(Decimal("0.000001"), Type.decimal(6, 6)))
    else:
        result = operators.arithmetic(exp.IntDiv, units, constant(UNITS[last], _LONG))
    return (converted if is_safe else coerced)(result, target)


def _cut(span: Typed, last: str) -> Typed:
    """Return an interval truncated to whole units of its last field."""
    type_ = span.type.type
    known = span.fields or ALL_FIELDS[type_]
    if UNITS[known[1]] >= UNITS[last] or last == ALL_FIELDS[type_][1]:
        return span
    unit = constant(UNITS[last], _LONG)
    whole = operators.arithmetic(exp.IntDiv, apply("units_of_interval", span), unit)
    return apply(_OF_UNITS[type_], operators.arithmetic(exp.Mul, whole, unit))


_OF_UNITS = dict(zip(INTERVALS, ("interval_of_months", "interval_of_microseconds"), strict=True))


def _of_text(text: Typed, target: Type, first: str, last: str, is_safe: bool) -> Typed:
    name = "read_months" if target is Type.YEAR_MONTH_INTERVAL else "read_span"
    return (attempt if is_safe else apply)(name, text, *(constant(field, Type.STRING) for field in (first, last)))


def _of_number(number: Typed, target: Type, first: str, last: str, is_safe: bool) -> Typed:
    of_one = _OF_UNITS[target]
    if number.type.type.is_integer:
        unit = constant(UNITS[last], _LONG)
        units = operators.arithmetic(exp.Mul, coerced(number, _LONG), unit, attempted if is_safe else applied)
        return (attempt if is_safe else apply)(of_one, units)
    span = apply(of_one, constant(UNITS[last], _LONG))
    return (attempt if is_safe else apply)("times", span, number)


def _fields(unit: exp.Expression) -> Fields:
    """Return the first and the last field that a type names."""
    parts = [unit.this, unit.expression] if isinstance(unit, exp.IntervalSpan) else [unit, unit]
    first, last = (part.name.upper().removesuffix("S") for part in parts)
    return first, last


def _last_field(span: Typed) -> str:
    """Return the last field of an interval, which has to be known."""
    if span.fields is None:
        raise Mismatch("the fields of the interval are not known here: write extract(DAY FROM i)")
    return span.fields[1]


def is_calendar_interval(node: exp.Expression) -> bool:
    """Return whether a node makes an interval of months, days and microseconds, which can only move a time."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in ("make_interval", "try_make_interval")


def moved_by_calendar(kind: type[exp.Expression], time: Typed, name: str, amounts: Sequence[Typed]) -> Typed:
    """Return a time moved by years and months, then by weeks and days, then by hours, minutes and seconds."""
    make = attempt if name.startswith("try_") else apply
    combine = attempted if name.startswith("try_") else applied
    is_date = time.type.type is Type.DATE
    own = [coerced(amount, Type.INT32) if amount.is_null else amount for amount in amounts]
    clock = own[4:]
    if time.type.type not in _TIMES or len(own) > 7 or (is_date and not all(map(_is_zero, clock))):
        raise Mismatch
    weeks, days = (*(to(amount, Type.INT32) for amount in own[2:4]), _ZERO, _ZERO)[:2]
    days = operators.arithmetic(exp.Add, operators.arithmetic(exp.Mul, weeks, _SEVEN, combine), days, combine)
    result = operators.arithmetic(kind, time, make("make_ym_interval", *brought("make_ym_interval", own[:2])))
    rest = days if is_date else make("make_dt_interval", *brought("make_dt_interval", [days, *clock]))
    return operators.arithmetic(kind, result, rest)


_TIMES = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
_ZERO, _SEVEN = constant(0, Type.INT32), constant(7, Type.INT32)


def _is_zero(amount: Typed) -> bool:
    return is_literal(amount.expression) and amount.expression.name in ("0", "0.0")


# Times of a day


_INSTANTS = (Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
MOST_DIGITS = 6
"""The most digits of a second's fraction."""


def clock_cast(type_: exp.DataType, value: Typed, target: Type, is_safe: bool) -> Typed | None:
    """Return a time of a day as a number of seconds, or what is cast to one; None for other casts."""
    source, convert = value.type.type, converted if is_safe else coerced
    if source is Type.TIME and (target.is_integer or target.kind is Kind.DECIMAL):
        unit, kind = (SECOND, exp.IntDiv) if target.is_integer else (Decimal("0.000001"), exp.Mul)
        second = constant(unit, _LONG if target.is_integer else Type.decimal(6, 6))
        return convert(operators.arithmetic(kind, operators.micros_of(value), second), target)
    if target is not Type.TIME or value.is_null or source not in (Type.STRING, Type.TIME, *_INSTANTS):
        return None
    clock = apply("clock_of_time", value) if source in _INSTANTS else convert(value, target)
    cut = MOST_DIGITS - (int(type_.expressions[0].name) if type_.expressions else MOST_DIGITS)
    return attempt("clock_floor", clock, constant(10**cut, _LONG)) if cut > 0 else clock
