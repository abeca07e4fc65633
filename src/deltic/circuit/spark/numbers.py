"""Functions of numbers. Of the transcendental ones the last bit may be another than Java's."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

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
    "bit_count": Function(INT, "CAST(bit_count({0}) AS INTEGER)", (LONG,)),
    "getbit": Function(
        Type.INT8,
        "CASE WHEN {1} BETWEEN 0 AND 63 THEN CAST(({0} >> {1}) & 1 AS TINYINT) END",
        (LONG, INT),
        partial=True,
    ),
}
