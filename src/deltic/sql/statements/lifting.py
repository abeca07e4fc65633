"""Literals of a text as parameters, so that texts that differ in their literals alone have one plan.

Only texts of simple tokens are lifted. A lifted literal is the value whose literal it is as a parameter; where it is
more than a value, as in a type or an interval, no plan is kept of the lifted text, and the text is planned as it is.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

_PART = re.compile(
    r"'(?P<text>[^'\\]*)'|(?P<number>\d+(?:\.\d+)?)(?![\w.])|(?P<word>[^\W\d]\w*|`[^`]*`)|(?P<space>\s+)|.", re.S
)
_REFUSED = frozenset("'\"`?:\\@#$0123456789")
"""What begins tokens that are not simple: those of other quotes, of parameters and of other numbers."""
_BEFORE_A_SIGN = frozenset("(,=<>")
_MOST = 64
"""The most literals that are lifted."""
_INT = 1 << 31


def lifted(text: str) -> tuple[str, list[Any]] | None:
    """Return the text with `?` for its literals, and their values; None where it has none, or tokens that are not
    simple.
    """
    made, values, last, sign = list[str](), list[Any](), "", ""
    for part in _PART.finditer(text):
        kind, written = part.lastgroup, part[0]
        if kind == "space":
            made.append(" ")
            sign = ""
            continue
        value = _value(part)
        if value is not None:
            if last in ("'", ".") or (kind == "text" and made and made[-1].isidentifier()) or len(values) == _MOST:
                return None
            values.append(-value if sign else value)
            made[-1 if sign else len(made) :] = [" ? "]
        elif written in _REFUSED or written + last in ("--", "*/"):
            return None
        else:
            made.append(written)
        sign = "-" if written == "-" and last in _BEFORE_A_SIGN else ""
        last = "'" if kind == "text" else written
    return ("".join(made), values) if values else None


def _value(part: re.Match[str]) -> Any:
    """Return the value of a literal; None for another part, and for a number that is not of type INT or DECIMAL."""
    if part["text"] is not None:
        return part["text"]
    if part["number"] is None:
        return None
    return Decimal(part[0]) if "." in part[0] else int(part[0]) if int(part[0]) < _INT else None
