"""Rules of functions of numbers."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from deltic.functions.number_formats import is_java_pattern, number_format
from deltic.sql.scalars import operators
from deltic.sql.scalars.coercion import as_decimal, as_signed, bounded_decimal, coerced, converted
from deltic.sql.scalars.functions.definitions import kind
from deltic.sql.scalars.functions.rules import apply, attempt, literal_of, rule, to
from deltic.sql.scalars.operators import Mismatch, case
from deltic.sql.scalars.typed import Typed, attempted, constant, folded
from deltic.values.types import Kind, Type
from deltic.values.types.value import MAX_PRECISION

DOUBLE, INT, LONG = Type.FLOAT64, Type.INT32, Type.INT64


@kind("number")
def _number(value: Typed, function: str = "") -> Typed:
    """A number."""
    type_ = as_signed(value.type.type)
    if value.is_null:
        return coerced(value, DOUBLE)
    if not (type_.is_numeric or type_ is Type.STRING):
        raise Mismatch("a number is taken here")
    return coerced(value, DOUBLE if type_ is Type.STRING else type_)


def _toward(name: str, value: Typed, places: Typed | None = None) -> Typed:
    """Return the next integer up or down: a BIGINT, or a decimal without digits after the point."""
    number = _number(value)
    type_ = number.type.type
    if places is not None:
        own = value if value.is_null or value.type.type is Type.STRING else number
        return _decimal_toward(name, own, int(literal_of(places, f"the places of {name}", INT, "0")))
    if type_.is_integer:
        return coerced(number, LONG)
    if type_.kind is Kind.DECIMAL:
        return _nearest(name, number, 0) if type_.scale else number
    return coerced(apply(name, coerced(number, DOUBLE)), LONG)


rule("ceil", "ceiling", of="ceil round_decimal")(partial(_toward, "ceil"))
rule("floor", of="floor round_decimal")(partial(_toward, "floor"))


def _decimal_toward(name: str, value: Typed, places: int) -> Typed:
    """Return a decimal of fewer places."""
    written = Type.STRING if value.is_null else value.type.type
    decimal = coerced(value, _DECIMALS.get(written) or as_decimal(as_signed(written)))
    type_ = decimal.type.type
    if places < type_.scale:
        return _nearest(name, decimal, places)
    return coerced(decimal, Type.decimal(min(type_.precision + 1, MAX_PRECISION), type_.scale))


def _rounded(name: str, value: Typed, given: Typed | None = None) -> Typed:
    """Return the number rounded to this many places; halves go away from zero, or to the even digit."""
    places = 0 if given is None else int(literal_of(given, f"the places of {name}", INT, "0"))
    number = _number(value)
    type_ = number.type.type
    if type_.is_float:
        return coerced(apply(name, coerced(number, DOUBLE), constant(places, INT)), type_)
    if type_.is_integer and places >= 0:
        return number
    if type_.is_integer:
        return coerced(_nearest(name, number, places), type_)
    if name == "bround" or places < 0:
        return _nearest(name, number, places)
    scale = min(places, type_.scale)
    return coerced(number, bounded_decimal(type_.precision - type_.scale + 1 + scale, scale))


rule("round", of="round round_decimal")(partial(_rounded, "round"))
rule("bround", of="bround round_decimal")(partial(_rounded, "bround"))


def _nearest(name: str, number: Typed, places: int) -> Typed:
    """Return the nearest decimal of this many places, which are before the point where they are negative."""
    decimal = coerced(number, as_decimal(as_signed(number.type.type)))
    places = max(places, -MAX_PRECISION - 1)  # any decimal is below half of this unit
    return apply("round_decimal", decimal, constant(places, INT), constant(_WAYS[name], Type.STRING))


_WAYS = {"round": "half_towards_infinity", "bround": "half_to_even", "ceil": "up", "floor": "down"}


@rule("getbit", "bit_get", of="getbit")
def getbit(value: Typed, place: Typed) -> Typed:
    """The bit at a place of an integer, which must have this many."""
    type_ = as_signed(value.type.type)
    width = 8 * type_.arrow.byte_width if type_.is_integer and not value.is_null else 64
    return apply("getbit", to(value, LONG), to(place, INT), constant(width - 1, INT))


@rule("format_number", of="format_number number_by_pattern")
def format_number(number: Typed, places: Typed) -> Typed:
    """A number with commas between its thousands, and this many places; or by a pattern as #,##0.00."""
    value = _number(number)
    if places.type.type is Type.STRING and not places.is_null:
        return _by_pattern(value, literal_of(places, "the pattern of format_number"))
    wide = LONG if value.type.type.is_integer else DOUBLE if value.type.type.is_float else value.type.type
    count = to(places, INT)
    is_count = operators.comparison(exp.GTE, count, constant(0, INT))
    return folded(case([(is_count, apply("format_number", coerced(value, wide), count))], None))


def _by_pattern(value: Typed, pattern: str) -> Typed:
    if not is_java_pattern(pattern):
        raise Mismatch(f"{pattern!r} is no pattern of #, 0, commas, a point and a percent, as #,##0.00")
    exact = coerced(value, DOUBLE if value.type.type.is_float else as_decimal(value.type.type))
    return attempt("number_by_pattern", exact, constant(pattern, Type.STRING))


_DECIMALS = {Type.FLOAT32: Type.decimal(14, 7), DOUBLE: Type.decimal(30, 15), Type.STRING: Type.decimal(38, 18)}
"""What floats and texts are brought to where a decimal is taken."""


@rule("to_char", "to_varchar", of="written_number")
def number_written(value: Typed, form: Typed) -> Typed:
    """A number as text, by a format as S$99,999.00."""
    type_ = as_signed(value.type.type)
    if not (value.is_null or type_.is_numeric or type_ is Type.STRING):
        raise Mismatch("a number or a time is taken here")
    return attempt("written_number", coerced(value, _DECIMALS.get(type_) or as_decimal(type_)), _format(form))


@kind("form")
def _format(form: Typed, function: str = "") -> Typed:
    """The format of a number."""
    text = literal_of(form, "the format of a number", sample="9999999999")
    if number_format(text) is None:
        raise Mismatch(f"{text!r} is no format: S or MI, $, digits as 0 and 9 with commas, a point, digits, PR")
    return constant(text, Type.STRING)


@rule("pmod")
def pmod(value: Typed, divisor: Typed) -> Typed:
    """The remainder, which is not negative if the divisor is positive."""
    rest = operators.arithmetic(exp.Mod, value, divisor)
    type_ = rest.type.type
    wide = INT if type_ in (Type.INT8, Type.INT16) else type_
    moved = _wrapped_sum(rest, divisor, wide) if wide.is_integer else operators.arithmetic(exp.Add, rest, divisor)
    again = operators.arithmetic(exp.Mod, moved, divisor)
    result = (converted if wide.is_integer else coerced)(again, type_)
    return case([(operators.comparison(exp.LT, rest, constant(0, INT)), result)], rest)


def _wrapped_sum(a: Typed, b: Typed, type_: Type) -> Typed:
    """Return the sum of two integers, which wraps around."""
    return folded(attempted(exp.Add, coerced(a, type_), coerced(b, type_)))
