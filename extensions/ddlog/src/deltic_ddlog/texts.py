"""Strings and floats as texts, as Rust's `escape_debug` and `Display` have them: DDlog's dumps are printed by these."""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Decimal

from deltic_ddlog.runtime import single

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
