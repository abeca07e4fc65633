"""The runtime of compiled functions: DDlog's arithmetic where it differs from Python's, updates of parts, and texts of
strings and floats as Rust's `escape_debug` and `Display` have them, by which dumps are printed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from deltic.errors import EvaluationError
from deltic.values.numbers import round_float
from deltic.values.types import Type


def quotient(a: int, b: int) -> int:
    """a / b, cut towards zero."""
    if b == 0:
        raise EvaluationError(f"{a} / 0 has no value")
    result = abs(a) // abs(b)
    return result if (a < 0) == (b < 0) else -result


def remainder(a: int, b: int) -> int:
    """Return what is left of a / b, with the sign of a."""
    if b == 0:
        raise EvaluationError(f"{a} % 0 has no value")
    result = abs(a) % abs(b)
    return -result if a < 0 else result


def divided(a: float, b: float) -> float:
    """a / b by IEEE 754."""
    if b:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def single(value: float) -> float:
    """Return the number of 32 bits that is nearest."""
    return round_float(value, Type.FLOAT32)


def truncated(value: float, low: int, high: int) -> int:
    """Return the integer of a float towards zero, at most and at least those of a type; 0 of what is no number."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


def integer(value: float) -> int:
    """Return the integer of a float towards zero; 0 of what is none."""
    return math.trunc(value) if math.isfinite(value) else 0


def with_item(value: tuple[Any, ...], place: int, item: Any) -> Any:
    """Return a tuple or a structure with another item at a place."""
    return tuple.__new__(type(value), (*value[:place], item, *value[place + 1 :]))


def with_path(value: tuple[Any, ...], path: Sequence[int], item: Any) -> Any:
    """Return the same where the item is in an item, and so on."""
    first, *rest = path
    return with_item(value, first, with_path(value[first], rest, item) if rest else item)


_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_SHOWN = {"\0": "\\0", "\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def show_string(text: str) -> str:
    """Return a string in quotes. What cannot be seen, or hangs on the character before it, is written as its number."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_shown, text))}"'


def _shown(character: str) -> str:
    if character in _SHOWN:
        return _SHOWN[character]
    is_seen = character.isprintable() and unicodedata.category(character) not in ("Mn", "Me")
    return character if is_seen else f"\\u{{{ord(character):x}}}"


def unquoted(text: str) -> str:
    """Return the string that quotes are around."""
    if "\\" not in text:
        return text[1:-1]

    def plain(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        return chr(int(code, 16)) if code else ESCAPED.get(found[4], found[4])

    return _ESCAPE.sub(plain, text[1:-1])


def show_float(value: float, is_single: bool = False) -> str:
    """Return the shortest decimal number that is read as the same value, no exponent: `0.1`, `100`, `NaN`, `inf`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    digits_text = repr(value)
    if is_single:
        digits_text = next(text for digits in range(1, 10) if single(float(text := f"{value:.{digits}g}")) == value)
    return format(Decimal(digits_text), "f").removesuffix(".0")
