"""Conversions between numbers and texts with Soufflé's (C++) formats."""

from __future__ import annotations

import re
from functools import partial

from deltic.functions.conversions import FLOAT_TEXT
from deltic.functions.function import Function, provide
from deltic.values.numbers import round_float
from deltic.values.types import Type

_WHOLE = re.compile(r"([+-]?)0*([0-9]{1,40})|(-?)(?:0x0*([0-9A-Fa-f]{1,40})|0b0*([01]{1,140}))")
_FLOAT = re.compile(rf"{FLOAT_TEXT}|[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII)
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9A-Fa-f]+\.?[0-9A-Fa-f]*|\.[0-9A-Fa-f]+)(?:[pP][+-]?[0-9]{1,9})?")


def _whole(type_: Type, text: str) -> int | None:
    """Return the integer of a decimal, hexadecimal (0x) or binary (0b) numeral; None if invalid or out of range."""
    result = _WHOLE.fullmatch(text)
    if result is None or ("-" in (result[1], result[3]) and not type_.signed):
        return None
    digits, base = (result[2], 10) if result[2] else (result[4], 16) if result[4] else (result[5], 2)
    value = int(digits, base) * (-1 if "-" in (result[1], result[3]) else 1)
    least, greatest = type_.range
    return value if least <= value <= greatest else None


def _float(type_: Type, text: str) -> float | None:
    """Return the float of a text, including inf, nan and hexadecimal floats; None if it is invalid."""
    if _FLOAT.fullmatch(text):
        return round_float(float(text), type_)
    if not _HEXADECIMAL.fullmatch(text):
        return None
    try:
        return round_float(float.fromhex(text), type_)
    except OverflowError:
        return None


def _six_places(value: float) -> str:
    """Return the text of a float as C++ prints it, with six decimal places."""
    return f"{value:f}"


provide(
    {
        f"{type_.kind.value}_of_text": Function(type_, python=partial(convert, type_), tolerant=True)
        for convert, types in (
            (_whole, (Type.INT64, Type.UINT64, Type.INT32, Type.UINT32)),
            (_float, (Type.FLOAT64, Type.FLOAT32)),
        )
        for type_ in types
    }
    | {"six_places": Function(Type.STRING, python=_six_places)}
)
