"""Everyday functions on single values: texts joined, measured and cut, and casts between texts and numbers.

They mean what DuckDB makes of whole columns of operands, see `functions`, and take a thousandth of a query's time.
A definition takes values as they stand in rows, none of them NULL; its result is None where the function is undefined,
and NotImplemented where only DuckDB says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from deltic.values.types import Type

Definition = Callable[..., Any]

FLOAT_TEXT = "[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"
"""How a text is written that is a number with a fraction; the same pattern in Python and in DuckDB."""

# DuckDB takes no place and no length of a part of a text beyond these.
_FURTHEST = (1 << 32) - 1


def everyday(node: exp.Expression, operands: Sequence[Type], result: Type) -> Definition | None:
    """What a function node, or a cast, makes of operands of these types; None where DuckDB alone says."""
    if isinstance(node, exp.TryCast):
        return _cast(operands[0], result) if len(operands) == 1 else None
    return _FUNCTIONS.get(type(node))


def integer_text(type_: Type) -> str:
    """How a text is written that is an integer of the type; the same pattern in Python and in DuckDB."""
    return "[+-]?[0-9]+" if type_.signed else "[+]?[0-9]+"


def _cast(source: Type, target: Type) -> Definition | None:
    if source is Type.STRING and target.is_integer:
        return _to_integer(target)
    if source is Type.STRING and target is Type.FLOAT64:
        return _to_float
    if target is Type.STRING and source.is_integer:
        return str
    if target is Type.STRING and source is Type.FLOAT64:
        return _of_float
    return None


def _to_integer(type_: Type) -> Definition:
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


def _substring(text: str, start: int, length: int) -> Any:
    """Places count from 1, or from −1 at the end backward; a length below zero reaches back from the start."""
    if abs(start) > _FURTHEST or abs(length) > _FURTHEST:
        return NotImplemented
    first = start - 1 if start >= 0 else len(text) + start
    low, high = sorted((first, first + length))
    return text[max(low, 0) : max(high, 0)]


_IS_FLOAT = re.compile(FLOAT_TEXT).fullmatch
_FUNCTIONS: dict[type[exp.Expression], Definition] = {
    exp.DPipe: lambda first, second: first + second,
    exp.Length: len,
    exp.Substring: _substring,
}
