"""The values of literals."""

from __future__ import annotations

import re
from collections.abc import Iterator

ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "0": "\0",
    "\\": "\\",
    '"': '"',
    "'": "'",
}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def whole_number(text: str) -> int:
    """The value of a decimal, hexadecimal (`0x`) or binary (`0b`) numeral, with or without the suffix `u`."""
    digits = text.rstrip("u")
    return int(digits, {"0x": 16, "0b": 2}.get(digits[:2], 10))


def unknown_escapes(text: str) -> Iterator[tuple[int, str]]:
    """The unknown escapes of a quoted string: offset in `text` and the two characters."""
    return ((m.start(), m.group()) for m in _ESCAPE.finditer(text) if m.group(1) not in ESCAPES)


def unquote(text: str) -> str:
    """The value of a quoted string. An unknown escape is replaced by its character."""
    return _ESCAPE.sub(lambda m: ESCAPES.get(m.group(1), m.group(1)), text[1:-1])
