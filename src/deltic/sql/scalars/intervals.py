"""Casts between intervals and numbers or texts.

A number counts the last field that the interval's type names, as in Spark: CAST(INTERVAL '90' MINUTE AS INT) is 90. The
types of circuits name none, so that the field is found where the interval is written; elsewhere a text has all fields.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from deltic.functions.intervals import FIELDS, UNITS, between
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
        return _counts(target) or target is Type.STRING
    return target in INTERVALS and (_counts(source) or source is Type.STRING)


def _counts(type_: Type) -> bool:
    return type_.is_integer or type_.kind is Kind.DECIMAL


def interval_cast(node: exp.Expression, operand: Typed, target: Type, is_safe: bool, of: Of) -> Typed:
    """The cast of an interval to a number or a text, or of these to an interval; NULL for none if it is safe.

    `of` gives the value of an expression.
    """
    if target in INTERVALS:
        first, last = _fields(node.args["to"].this.args["unit"])
        read = _of_text if operand.type.type is Type.STRING else _of_number
        return read(operand, target, first, last, is_safe)
    if target is Type.STRING:
        fields = _fields_of(node.this, of)
        own = (constant(field, Type.STRING) for field in fields or ())
        return apply("written_interval", operand, *own) if fields else coerced(operand, target)
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
    if (fields := _fields_of(node, of)) is not None:
        return fields[1]
    if isinstance(node, exp.Column):
        raise Mismatch("a column of intervals does not say which field is counted: write extract(DAY FROM i)")
    raise Mismatch("the number counts a field of the interval: write an INTERVAL, a CAST to one, or a difference")


def _fields_of(node: exp.Expression, of: Of) -> tuple[str, str] | None:
    """The first and the last field of the type of an interval, if what is written says it."""
    if isinstance(node, exp.Neg | exp.Paren):
        return _fields_of(node.this, of)
    if isinstance(node, exp.Cast) and isinstance(node.args["to"].this, exp.Interval):
        return _fields(node.args["to"].this.args["unit"])
    if isinstance(node, exp.Interval) and node.args.get("unit") is not None:
        first, last = (_COARSER.get(field, field) for field in _fields(node.args["unit"]))
        return (first, last) if between(first, last) else None
    if isinstance(node, exp.Anonymous):
        return _MADE.get(node.name.lower())
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    types = {of(node.this).type.type, of(node.expression).type.type}
    if not types - _TIMES:
        return ("DAY", "DAY" if types == {Type.DATE} else "SECOND")
    both = _fields_of(node.this, of), _fields_of(node.expression, of)
    return None if None in both else _together([field for fields in both for field in fields or ()])


def _together(fields: list[str]) -> tuple[str, str]:
    """The fields from the greatest to the smallest of these, all of one kind."""
    kind = next(kind for kind in FIELDS if fields[0] in kind)
    places = sorted(map(kind.index, fields))
    return kind[places[0]], kind[places[-1]]


_MADE = {"make_dt_interval": ("DAY", "SECOND"), "make_ym_interval": ("YEAR", "MONTH")}
_COARSER = {"WEEK": "DAY", "MILLISECOND": "SECOND", "MICROSECOND": "SECOND"}
"""Units that literals have, with the fields that they count."""
