"""Formatting by patterns of Java's `Formatter`."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from deltic.functions.conversions import shortest
from deltic.functions.function import FUNCTIONS, Function
from deltic.values.types import Type

HOLE = re.compile(r"(%[%n]|%(?:\d+\$)?[-+ 0,]*\d*(?:\.\d+)?[sSbBcCdxXofeEgG])")
"""Where a value stands, the next or that of a number, and the signs for a percent and for the end of a line."""

_PARTS = re.compile(r"%(?:\d+\$)?([-+ 0,]*)(\d*)(?:\.(\d+))?(.)")
_EXACT = Context(prec=800)


def is_hole(hole: str) -> bool:
    """Return whether Java accepts this combination of flags, width and precision."""
    written, width, places, kind = _PARTS.fullmatch(hole).groups()  # type: ignore[union-attr]
    flags = {*written}
    allowed = {**dict.fromkeys("sbc", "-"), "x": "-0", "o": "-0", "e": "-+ 0"}.get(kind.lower(), "-+ 0,")
    if not flags <= {*allowed} or {"-", "0"} <= flags or {"+", " "} <= flags:
        return False
    return bool(width or not flags & {"-", "0"}) and (not places or kind in "sSbBfeEgG")


def _formatted(hole: str, bits: int, value: Any) -> str:
    """Format one value, `null` for NULL; %x and %o show negative integers in two's complement of `bits`."""
    flags, least, places, kind = _PARTS.fullmatch(hole).groups()  # type: ignore[union-attr]
    precision, width = None if places is None else int(places), int(least or 0)
    if value is None or kind in "sSbB":
        shown = (("false" if kind in "bB" else "null") if value is None else value)[:precision]
        return _padded(shown.upper() if kind.isupper() else shown, flags.replace("0", ""), width)
    if kind in "cC":
        return _padded(chr(value).upper() if kind == "C" else chr(value), flags, width)
    if kind in "xXo":
        return _padded(format(value % (1 << bits), kind), flags, width)
    if isinstance(value, float) and not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else f"{_sign(value < 0, flags)}Infinity"
        return _padded(shown.upper() if kind.isupper() else shown, flags.replace("0", ""), width)
    number = Decimal(shortest(value, Type.FLOAT64) if isinstance(value, float) else value)
    shown = _number(number, kind.lower(), flags, 6 if precision is None else precision)
    return _padded(shown.upper() if kind.isupper() else shown, flags, width)


def _sign(is_below: bool, flags: str) -> str:
    return "-" if is_below else "+" if "+" in flags else " " if " " in flags else ""


def _number(number: Decimal, kind: str, flags: str, places: int) -> str:
    comma, sign = "," if "," in flags else "", _sign(False, flags)
    if kind == "d":
        return format(int(number), sign + comma)
    if kind == "g":
        return _general(number, flags, max(places, 1))
    if kind == "f":
        return format(number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT), f"{sign}{comma}.{places}f")
    exponent = number.adjusted() if number else 0
    shown = number.scaleb(-exponent, _EXACT).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)
    if abs(shown) >= 10:
        shown, exponent = shown / 10, exponent + 1
    return format(shown, f"{sign}.{places}f") + f"e{exponent:+03}"


def _general(number: Decimal, flags: str, digits: int) -> str:
    """This many digits, after the point the rest; with an exponent where it is below -4 or there are more."""
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).plus(number)
    exponent = rounded.adjusted() if rounded else 0
    is_plain = -4 <= exponent < digits
    return _number(rounded, "f" if is_plain else "e", flags, digits - 1 - (exponent if is_plain else 0))


def _padded(shown: str, flags: str, width: int) -> str:
    if "-" in flags:
        return shown.ljust(width)
    if "0" not in flags:
        return shown.rjust(width)
    sign = shown[:1] if shown[:1] in ("-", "+", " ") else ""
    return sign + shown[len(sign) :].rjust(width - len(sign), "0")


FUNCTIONS["formatted"] = Function(
    Type.STRING, python=_formatted, strict=False, reason="no library has the fields of Java's Formatter"
)
