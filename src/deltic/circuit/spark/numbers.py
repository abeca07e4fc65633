"""Functions of numbers. Of the transcendental ones the last bit may be another than Java's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import partial, reduce
from operator import add, mul
from typing import Any

from sqlglot import exp

from deltic.circuit.spark.function import FUNCTIONS, Function
from deltic.circuit.types import Type

DOUBLE, INT, LONG = Type.FLOAT64, Type.INT32, Type.INT64
_NAN = "CAST('nan' AS DOUBLE)"
_WIDE = Context(prec=700)


def _rounded(value: float, places: int, how: str) -> float:
    """A float rounded as the decimal that it is written as."""
    if not math.isfinite(value):
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), how, _WIDE))


def _round(value: float, places: int) -> float:
    return _rounded(value, places, ROUND_HALF_UP)


def _bround(value: float, places: int) -> float:
    return _rounded(value, places, ROUND_HALF_EVEN)


def _exp(value: float, compute: Callable[[float], float] = math.exp) -> float:
    try:
        return compute(value)
    except OverflowError:
        return math.inf


def _log1p(value: float) -> float | None:
    return None if value <= -1 else math.log1p(value)


def _rint(value: float) -> float:
    return float(round(value)) if math.isfinite(value) else value


def _factorial(number: int) -> int | None:
    return math.factorial(number) if 0 <= number <= 20 else None


def _power(base: float, exponent: float) -> float:
    """As IEEE 754's `pow`, infinite or no number where Python raises."""
    try:
        result = base**exponent
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ZeroDivisionError:
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf
    return math.nan if isinstance(result, complex) else result


def _width_bucket(value: float, low: float, high: float, count: int) -> int | None:
    """The number of the interval, of so many of one width between two bounds, in which a value lies."""
    bounds_are_apart = math.isfinite(low) and math.isfinite(high) and low != high
    if not 0 < count < 2**63 - 1 or math.isnan(value) or not bounds_are_apart:
        return None
    if (value < low) if low < high else (value > low):
        return 0
    if (value >= high) if low < high else (value <= high):
        return count + 1
    return int(count * (value - low) / (high - low)) + 1


def _folded(step: Callable[[float, float], float], *values: float) -> float:
    return reduce(step, values)


def _columns_folded(step: Callable[[Any, Any], Any], *columns: Any) -> tuple[Any, None]:
    return reduce(step, columns), None


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORD = 1 << 64


def _conv(text: str, base: int, other: int) -> str | None:
    """A whole number written in another base, up to 64 bits of it; `-1` says that there are more."""
    own = text.strip(" ").upper()
    if not own or not 2 <= base <= 36 or not 2 <= abs(other) <= 36:
        return None
    return _rebased(own, base, other)


def _is_narrow(text: str, base: int) -> bool | None:
    """True for a number of at most 64 bits, NULL for others."""
    return True if not 2 <= base <= 36 or _leading(text.strip(" ").upper().removeprefix("-"), base) < _WORD else None


def _leading(digits: str, base: int) -> int:
    """The number that digits of a base at the beginning of a text are."""
    found = 0
    for digit in digits:
        if (value := _DIGITS.find(digit)) not in range(base):
            break
        found = found * base + value
    return found


def _rebased(own: str, base: int, other: int) -> str:
    number = _leading(own.removeprefix("-"), base)
    if own.startswith("-"):
        number = -number % _WORD
    is_negative = other < 0 and number >= _WORD // 2
    left, written = _WORD - number if is_negative else number, ""
    while left or not written:
        left, digit = divmod(left, abs(other))
        written = _DIGITS[digit] + written
    return "-" * is_negative + written


def _shifted_unsigned(value: int, places: int, width: int) -> int:
    """The bits moved to the right, with zeros behind them."""
    found = (value % (1 << width)) >> (places % width)
    return found - (1 << width) if found >= 1 << (width - 1) else found


def _integer(literal: exp.Expression) -> int:
    """The value of an integer literal."""
    if isinstance(literal, exp.Literal):
        return int(literal.this)
    return -_integer(literal.this) if isinstance(literal, exp.Neg) else _integer(literal.this)


def _rounded_type(node: exp.Expression, types: Sequence[Type]) -> Type:
    """The type of a decimal rounded to places, of which those before the point are negative."""
    decimal, places = types[0], _integer(node.expressions[1])
    whole = decimal.precision - decimal.scale + 1
    if places < 0:
        return Type.decimal(min(max(whole, 1 - places), 38))
    scale = min(places, decimal.scale)
    return Type.decimal(min(whole + scale, 38), scale)


def _decimal_rounded(value: Decimal, places: int, how: str) -> Decimal:
    """A decimal of so many places; of those before the point the digits behind are zero."""
    rounded = value.quantize(Decimal(1).scaleb(-places), how, _WIDE)
    return rounded.quantize(Decimal(1), context=_WIDE) if places < 0 else rounded


def _format_number(value: Decimal | float | int, places: int) -> str | None:
    """With commas between thousands and so many places, the even one of two that are equally near."""
    if places < 0:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "-∞" if value < 0 else "∞"
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN, _WIDE):,f}"


def _plain(name: str) -> Function:
    return Function(DOUBLE, f"{name}({{0}})", (DOUBLE,))


def _within(name: str, condition: str) -> Function:
    """A function that is no number where the condition does not hold."""
    return Function(
        DOUBLE, f"CASE WHEN isnan({{0}}) OR NOT ({condition}) THEN {_NAN} ELSE {name}({{0}}) END", (DOUBLE,)
    )


def _positive(name: str, least: str = "0") -> Function:
    """A logarithm, NULL from a bound down."""
    return Function(DOUBLE, f"CASE WHEN {{0}} > {least} THEN {name} END", (DOUBLE,), tolerant=True)


FUNCTIONS |= {
    "ceil": _plain("ceil"),
    "floor": _plain("floor"),
    "round": Function(DOUBLE, "", (DOUBLE, INT), python=_round),
    "bround": Function(DOUBLE, "", (DOUBLE, INT), python=_bround),
    "rint": Function(DOUBLE, "", (DOUBLE,), python=_rint),
    "signum": Function(DOUBLE, "CAST(sign({0}) AS DOUBLE)", (DOUBLE,)),
    "sqrt": _within("sqrt", "{0} >= 0"),
    "cbrt": Function(DOUBLE, "", (DOUBLE,), python=math.cbrt),
    "exp": Function(DOUBLE, "", (DOUBLE,), python=_exp),
    "expm1": Function(DOUBLE, "", (DOUBLE,), python=lambda value: _exp(value, math.expm1)),
    "ln": _positive("ln({0})"),
    "log10": _positive("log10({0})"),
    "log2": _positive("log2({0})"),
    "log1p": Function(DOUBLE, "", (DOUBLE,), python=_log1p, tolerant=True),
    "log": Function(
        DOUBLE, "CASE WHEN {0} > 0 AND {1} > 0 THEN ln({1}) / ln({0}) END", (DOUBLE, DOUBLE), tolerant=True
    ),
    "power": Function(DOUBLE, "", (DOUBLE, DOUBLE), python=_power),
    "sin": _within("sin", "isfinite({0})"),
    "cos": _within("cos", "isfinite({0})"),
    "tan": _within("tan", "isfinite({0})"),
    "cot": Function(DOUBLE, "1 / tan({0})", (DOUBLE,)),
    "sec": Function(DOUBLE, "1 / cos({0})", (DOUBLE,)),
    "csc": Function(DOUBLE, "1 / sin({0})", (DOUBLE,)),
    "asin": _within("asin", "abs({0}) <= 1"),
    "acos": _within("acos", "abs({0}) <= 1"),
    "atan": _plain("atan"),
    "atan2": Function(DOUBLE, "atan2({0}, {1})", (DOUBLE, DOUBLE)),
    "sinh": _plain("sinh"),
    "cosh": _plain("cosh"),
    "tanh": _plain("tanh"),
    "asinh": _plain("asinh"),
    "acosh": _within("acosh", "{0} >= 1"),
    "atanh": _within("atanh", "abs({0}) < 1"),
    "degrees": _plain("degrees"),
    "radians": _plain("radians"),
    "hypot": Function(DOUBLE, "", (DOUBLE, DOUBLE), python=math.hypot),
    "factorial": Function(LONG, "", (INT,), python=_factorial, tolerant=True),
    # Whether a scalar subquery, of this text and with so many rows, has one at most: then TRUE, else an error.
    "scalar_subquery": Function(Type.BOOLEAN, "CASE WHEN {1} <= 1 THEN TRUE END", partial=True),
    "width_bucket": Function(LONG, takes=(DOUBLE, DOUBLE, DOUBLE, LONG), python=_width_bucket, tolerant=True),
    "conv": Function(Type.STRING, python=_conv, tolerant=True),
    "is_narrow": Function(
        Type.BOOLEAN, python=_is_narrow, partial=True, failure=lambda _: "the number has more than 64 bits"
    ),
    "round_decimal": Function(_rounded_type, python=_decimal_rounded, partial=True),
    # Many floats, rounded after each step: Datalog's long sums and products.
    **{
        f"{name}_in_order": Function(DOUBLE, python=partial(_folded, step), vector=partial(_columns_folded, step))
        for name, step in (("sum", add), ("product", mul))
    },
    "format_number": Function(Type.STRING, python=_format_number, tolerant=True),
    "shift_unsigned": Function(lambda _, operands: operands[0], python=_shifted_unsigned),
    "bit_count": Function(INT, "CAST(bit_count({0}) AS INTEGER)", (LONG,)),
    "getbit": Function(
        Type.INT8,
        "CASE WHEN {1} BETWEEN 0 AND 63 THEN CAST(({0} >> {1}) & 1 AS TINYINT) END",
        (LONG, INT),
        partial=True,
    ),
}
