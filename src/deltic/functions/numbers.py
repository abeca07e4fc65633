"""Functions of numbers. Transcendental ones may differ from Java in the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import partial, reduce
from operator import add, mul
from typing import Any

from sqlglot import exp

from deltic.functions.function import FUNCTIONS, MOST_LETTERS, Function, Vector, by_rows, too_long
from deltic.lazy import np, pa, pc
from deltic.values.types import Type

DOUBLE, INT, LONG = Type.FLOAT64, Type.INT32, Type.INT64
_NAN = "CAST('nan' AS DOUBLE)"
_WIDE = Context(prec=700)
_PLACES = 340


def _rounded(value: float, places: int, how: str) -> float:
    """Round a float as its decimal text."""
    if not math.isfinite(value):
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), how, _WIDE)) + 0.0  # no -0.0, as Java


def _round(value: float, places: int) -> float:
    return _rounded(value, places, ROUND_HALF_UP)


def _bround(value: float, places: int) -> float:
    return _rounded(value, places, ROUND_HALF_EVEN)


def _by_arrow(name: str, *columns: Any) -> Any:
    """Declare a function of pyarrow.compute, which uses the same C library as Java's interpreter."""
    return getattr(pc, name)(*map(pa.array, columns)).to_numpy(zero_copy_only=False)


def _of_arrow(name: str) -> Vector:
    return lambda column: (_by_arrow(name, column), None)


def _of_numpy(name: str) -> Vector:
    def compute(*columns: Any) -> tuple[Any, None]:
        with np.errstate(all="ignore"):
            return getattr(np, name)(*columns), None

    return compute


def _log1p(values: Any) -> tuple[Any, Any]:
    undefined = values <= -1
    return _by_arrow("log1p", np.where(undefined, 0.0, values)), undefined


def _atanh(values: Any) -> tuple[Any, None]:

    return (_by_arrow("log1p", values) - _by_arrow("log1p", -values)) / 2, None


def _power(bases: Any, exponents: Any) -> tuple[Any, None]:
    """Java's `pow`: unlike IEEE 754 it is NaN where one operand is NaN, and for 1 with an infinite exponent."""
    unknown = np.isnan(exponents) | (np.isinf(exponents) & (np.abs(bases) == 1))
    return np.where(unknown, np.nan, _by_arrow("power", bases, exponents)), None


def _factorial(numbers: Any) -> tuple[Any, Any]:
    known = np.array([math.factorial(number) for number in range(21)])
    return known[np.clip(numbers, 0, 20)], (numbers < 0) | (numbers > 20)


def _width_bucket(values: Any, low: Any, high: Any, counts: Any) -> tuple[Any, Any]:
    """`width_bucket`: the number of the equal-width bucket that contains a value."""
    bounds_are_apart = np.isfinite(low) & np.isfinite(high) & (low != high)
    known = (counts > 0) & (counts < 2**63 - 1) & ~np.isnan(values) & bounds_are_apart
    is_before = np.where(low < high, values < low, values > low)
    is_behind = np.where(low < high, values >= high, values <= high)
    inside = known & ~is_before & ~is_behind
    with np.errstate(all="ignore"):
        places = counts * (values - low) / (high - low)
    result = np.where(inside, places, 0).astype(np.int64) + 1
    return np.where(is_before, 0, np.where(is_behind, counts + 1, result)), ~known


def _shifted_unsigned(values: Any, places: Any, width: Any) -> tuple[Any, None]:
    """Logical shift to the right."""
    mask = np.where(width == 64, -1, (1 << 32) - 1).astype(np.int64)
    bits = (values.astype(np.int64) & mask).view(np.uint64)
    result = (bits >> (places % width).astype(np.uint64)).view(np.int64)
    return result.astype(np.int32).astype(values.dtype) if (width == 32).all() else result, None


def _folded(step: Callable[[float, float], float], *values: float) -> float:
    return reduce(step, values)


def _columns_folded(step: Callable[[Any, Any], Any], *columns: Any) -> tuple[Any, None]:
    return reduce(step, columns), None


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORD = 1 << 64


def _conv(text: str, base: int, other: int) -> str | None:
    """`conv`: convert an integer text to another base, within 64 bits; `-1` for overflow."""
    own = text.strip(" ").upper()
    if not own or not 2 <= base <= 36 or not 2 <= abs(other) <= 36:
        return None
    return _rebased(own, base, other) if _leading(own.removeprefix("-"), base) < _WORD else None


def _is_narrow(text: str, base: int, other: int) -> bool | None:
    """True for a number of at most 64 bits, NULL for others."""
    is_unknown = not 2 <= base <= 36 or not 2 <= abs(other) <= 36
    return True if is_unknown or _leading(text.strip(" ").upper().removeprefix("-"), base) < _WORD else None


def _leading(digits: str, base: int) -> int:
    """Parse the leading digits of a text in a base."""
    result = 0
    for digit in digits:
        if (value := _DIGITS.find(digit)) not in range(base):
            break
        result = result * base + value
    return result


def _rebased(own: str, base: int, other: int) -> str:
    """Write a number in a base; negative ones as 64 bits, or with a sign for a negative base."""
    number, is_negative = _leading(own.removeprefix("-"), base), own.startswith("-")
    is_wide = number >= _WORD // 2
    if other > 0:
        left, is_negative = (_WORD - 1 if is_wide else -number % _WORD) if is_negative else number, False
    else:
        left, is_negative = _WORD - number if is_wide else number, is_negative or is_wide
    written = ""
    while left or not written:
        left, digit = divmod(left, abs(other))
        written = _DIGITS[digit] + written
    return "-" * is_negative + written


def _integer(literal: exp.Expression) -> int:
    """Return the value of an integer literal."""
    if isinstance(literal, exp.Literal):
        return int(literal.this)
    return -_integer(literal.this) if isinstance(literal, exp.Neg) else _integer(literal.this)


def _rounded_type(node: exp.Expression, types: Sequence[Type]) -> Type:
    """Return the type of a decimal rounded to a scale, which may be negative."""
    return Type.decimal(*_digits_rounded(types[0].precision, types[0].scale, _integer(node.expressions[1])))


def _digits_rounded(precision: int, scale: int, places: int) -> tuple[int, int]:
    whole, left = precision - scale + 1, max(min(places, scale), 0)
    return min(max(whole, 1 - places) if places < 0 else whole + left, 38), left


def _decimals_rounded(columns: Sequence[Any], count: int) -> Any:
    """Decimals of this many places, by a mode of Arrow's; of those before the point the digits after are zero."""
    decimals, (places, *_), (mode, *_) = columns if count else (columns[0], [pa.scalar(0)], [pa.scalar("up")])
    precision, scale = _digits_rounded(decimals.type.precision, decimals.type.scale, places.as_py())
    is_narrow = precision - scale + decimals.type.scale < 38
    wide = (pa.decimal128 if is_narrow else pa.decimal256)(38 if is_narrow else 76, decimals.type.scale)
    result = pc.round(decimals.cast(wide), places.as_py(), mode.as_py())
    most = _WIDE.subtract(Decimal(10) ** (precision - scale), Decimal(1).scaleb(-scale))
    return pc.if_else(pc.less_equal(pc.abs(result), pa.scalar(most, result.type)), result, None)


def _format_number(value: Decimal | float | int, places: int) -> str | None:
    """`format_number`: thousands separators and this many places, rounded half to even; 340 at most of a float."""
    if places < 0 or (places > MOST_LETTERS and not isinstance(value, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "-∞" if value < 0 else "∞"
    shown, rounded = Decimal(repr(value)) if isinstance(value, float) else Decimal(value), min(places, _PLACES)
    exact = shown if shown.as_tuple().exponent >= -rounded else Decimal(value)  # type: ignore[operator]
    text = f"{exact.quantize(Decimal(1).scaleb(-rounded), ROUND_HALF_EVEN, _WIDE):,f}"
    return text if isinstance(value, float) else text + "0" * (places - rounded)


def _plain(name: str) -> Function:
    return Function(DOUBLE, f"{name}({{0}})", (DOUBLE,))


def _whole(name: str) -> Function:
    """Return a function whose result is taken as an integer, of which NaN is 0."""
    return Function(DOUBLE, f"CASE WHEN isnan({{0}}) THEN 0 ELSE {name}({{0}}) END", (DOUBLE,))


def _within(name: str, condition: str) -> Function:
    """Return a function that is no number where the condition does not hold."""
    return Function(
        DOUBLE, f"CASE WHEN isnan({{0}}) OR NOT ({condition}) THEN {_NAN} ELSE {name}({{0}}) END", (DOUBLE,)
    )


def _positive(name: str, least: str = "0") -> Function:
    """Return a logarithm, NULL from a bound down."""
    return Function(DOUBLE, f"CASE WHEN {{0}} > {least} THEN {name} END", (DOUBLE,), tolerant=True)


def _true_unless(wrong: Any) -> tuple[Any, Any]:
    """TRUE, which is undefined where something is wrong."""
    return np.ones(len(wrong), bool), wrong


FUNCTIONS |= by_rows(
    "Spark rounds the written digits of decimals and floats",
    {
        "ceil": _whole("ceil"),
        "floor": _whole("floor"),
        "round": Function(DOUBLE, "", (DOUBLE, INT), python=_round),
        "bround": Function(DOUBLE, "", (DOUBLE, INT), python=_bround),
        "rint": Function(DOUBLE, takes=(DOUBLE,), vector=_of_numpy("rint")),
        "signum": Function(DOUBLE, takes=(DOUBLE,), vector=_of_numpy("sign"), names=("signum", "sign")),
        "sqrt": _within("sqrt", "{0} >= 0"),
        "cbrt": Function(DOUBLE, takes=(DOUBLE,), vector=_of_numpy("cbrt")),
        "exp": Function(DOUBLE, takes=(DOUBLE,), vector=_of_arrow("exp")),
        "expm1": Function(DOUBLE, takes=(DOUBLE,), vector=_of_arrow("expm1")),
        "ln": _positive("ln({0})"),
        "log10": _positive("log10({0})"),
        "log2": _positive("log2({0})"),
        "log1p": Function(DOUBLE, takes=(DOUBLE,), vector=_log1p, tolerant=True),
        "log": Function(
            DOUBLE, "CASE WHEN {0} > 0 AND {1} > 0 THEN ln({1}) / ln({0}) END", (DOUBLE, DOUBLE), tolerant=True
        ),
        "power": Function(DOUBLE, takes=(DOUBLE, DOUBLE), vector=_power, names=("power", "pow")),
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
        "atanh": Function(DOUBLE, takes=(DOUBLE,), vector=_atanh),
        "degrees": _plain("degrees"),
        "radians": _plain("radians"),
        "hypot": Function(DOUBLE, takes=(DOUBLE, DOUBLE), vector=_of_numpy("hypot")),
        "factorial": Function(LONG, takes=(INT,), vector=_factorial, tolerant=True),
        # Whether a scalar subquery, of this text and with so many rows, has one at most: then TRUE, else an error.
        "scalar_subquery": Function(Type.BOOLEAN, vector=lambda text, rows: _true_unless(rows > 1), partial=True),
        "recursion_level": Function(
            Type.BOOLEAN,
            vector=lambda level, most: _true_unless(level >= most),
            partial=True,
            failure=lambda _: "the recursion exceeds its MAX RECURSION LEVEL; name a greater one",
        ),
        "width_bucket": Function(LONG, takes=(DOUBLE, DOUBLE, DOUBLE, LONG), vector=_width_bucket, tolerant=True),
        "conv": Function(Type.STRING, python=_conv, tolerant=True),
        "is_narrow": Function(
            Type.BOOLEAN, python=_is_narrow, partial=True, failure=lambda _: "the number has more than 64 bits"
        ),
        "round_decimal": Function(_rounded_type, columns=_decimals_rounded, partial=True),
        # Many floats, rounded after each step: Datalog's long sums and products.
        **{
            f"{name}_in_order": Function(DOUBLE, python=partial(_folded, step), vector=partial(_columns_folded, step))
            for name, step in (("sum", add), ("product", mul))
        },
        "format_number": Function(Type.STRING, python=_format_number, partial=True, failure=too_long),
        "shift_unsigned": Function(lambda _, operands: operands[0], vector=_shifted_unsigned),
        "bit_count": Function(INT, "CAST(bit_count({0}) AS INTEGER)", (LONG,)),
        "getbit": Function(
            Type.INT8,
            "CASE WHEN {1} BETWEEN 0 AND {2} THEN CAST(({0} >> {1}) & 1 AS TINYINT) END",
            (LONG, INT, INT),
            partial=True,
        ),
    },
)
