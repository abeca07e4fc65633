"""Casts between texts and numbers on single values.

They mean what DuckDB makes of whole columns, and take a thousandth of a query's time. A cast takes a value as it stands
in rows, not NULL; its result is None where the value has none of the type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from deltic.values.types import Type

FLOAT_TEXT = "[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"
"""How a text is written that is a number with a fraction; the same pattern in Python and in DuckDB."""


def text_cast(source: Type, target: Type) -> Callable[[Any], Any] | None:
    """The cast of a value from one type to the other; None where DuckDB alone says."""
    if source is Type.STRING and target.is_integer:
        return _to_integer(target)
    if source is Type.STRING and target is Type.FLOAT64:
        return _to_float
    if target is Type.STRING and source.is_integer:
        return str
    if target is Type.STRING and source is Type.FLOAT64:
        return _of_float
    return None


def integer_text(type_: Type) -> str:
    """How a text is written that is an integer of the type; the same pattern in Python and in DuckDB."""
    return "[+-]?[0-9]+" if type_.signed else "[+]?[0-9]+"


def _to_integer(type_: Type) -> Callable[[str], int | None]:
    matches, (least, most) = re.compile(integer_text(type_)).fullmatch, type_.range
    # Python reads no more digits than 4300, and 20 are enough.
    longest = 40

    def convert(text: str) -> int | None:
        if not matches(text):
            return None
        value = int(text) if len(text) <= longest else int(text[:1] + text[1:].lstrip("0")[:longest])
        return value if least <= value <= most else None

    return convert


def _to_float(text: str) -> float | None:
    return float(text) if _IS_FLOAT(text) else None


def _of_float(value: float) -> str:
    return repr(value + 0.0)  # the two zeros are one value


_IS_FLOAT = re.compile(FLOAT_TEXT).fullmatch
