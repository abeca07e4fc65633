"""Values in the form that a pattern of Java's `Formatter` asks for."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from deltic.functions.function import FUNCTIONS, Function
from deltic.values.types import Type

HOLE = re.compile(r"(%%|%[-+0,]*\d*(?:\.\d+)?[sdxXofe])")
"""Where a value stands, and the sign for a percent."""

_PARTS = re.compile(r"%([-+0,]*)(\d*)(?:\.(\d+))?(.)")
_EXACT = Context(prec=800)


def _formatted(hole: str, bits: int, value: Any) -> str:
    """A value in a hole, `null` for NULL; %x and %o show negative integers by the `bits` of their type."""
    flags, least, places, kind = _PARTS.fullmatch(hole).groups()  # type: ignore[union-attr]
    precision, width = None if places is None else int(places), int(least or 0)
    if value is None or kind == "s":
        return _padded(("null" if value is None else value)[:precision], flags.replace("0", ""), width)
    if kind in "xXo":
        return _padded(format(value % (1 << bits), kind), flags, width)
    if isinstance(value, float) and not math.isfinite(value):
        sign = "-" if value < 0 else "+" if "+" in flags else ""
        shown = sign + ("NaN" if math.isnan(value) else "Infinity")
        return _padded(shown, flags.replace("0", ""), width)
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return _padded(_number(number, kind, flags, 6 if precision is None else precision), flags, width)


def _number(number: Decimal, kind: str, flags: str, places: int) -> str:
    comma, sign = "," if "," in flags else "", "+" if "+" in flags else ""
    if kind == "d":
        return format(int(number), sign + comma)
    if kind == "f":
        return format(number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT), f"{sign}{comma}.{places}f")
    exponent = number.adjusted() if number else 0
    shown = number.scaleb(-exponent, _EXACT).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)
    if abs(shown) >= 10:
        shown, exponent = shown / 10, exponent + 1
    return format(shown, f"{sign}.{places}f") + f"e{exponent:+03}"


def _padded(shown: str, flags: str, width: int) -> str:
    if "-" in flags:
        return shown.ljust(width)
    if "0" not in flags:
        return shown.rjust(width)
    sign = shown[:1] if shown[:1] in ("-", "+") else ""
    return sign + shown[len(sign) :].rjust(width - len(sign), "0")


FUNCTIONS["formatted"] = Function(Type.STRING, python=_formatted, strict=False, reason="holes of Java's Formatter")
