"""The values of single fields of text: their patterns, and what a field says that has none."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.values import phrase, problem
from deltic.values.numbers import round_float
from deltic.values.types import Column, Kind, Type

# Patterns with the same meaning in Python and RE2 (Arrow). Blanks around a number are accepted.
BLANKS = " \t"
INTEGER = r"[ \t]*[+-]?[0-9]+[ \t]*"
_OF_OTHER_BASE = r"[ \t]*[+-]?0(?:[xX][0-9A-Fa-f]{1,32}|[bB][01]{1,128})[ \t]*"
UNSIGNED = r"[ \t]*[+]?[0-9]+[ \t]*"
SPECIAL = r"[ \t]*[+-]?(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])[ \t]*"
DECIMAL = r"[ \t]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*"
FLOAT = f"(?:{SPECIAL}|{DECIMAL})"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_PATTERNS = {
    Kind.FLOAT32: FLOAT,
    Kind.FLOAT64: FLOAT,
    Kind.DECIMAL: DECIMAL,
    Kind.BOOLEAN: r"[ \t]*(?i:true|false)[ \t]*",
    Kind.DATE: f"[ \\t]*{_DATE}[ \\t]*",
    Kind.TIMESTAMP_NTZ: f"[ \\t]*{_DATE}(?:{_CLOCK})?[ \\t]*",
    Kind.TIME: f"[ \\t]*{_CLOCK.removeprefix('[ T]')}[ \\t]*",
    Kind.TIMESTAMP: f"[ \\t]*{_DATE}(?:{_CLOCK}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?[ \\t]*",
}

_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class TextField:
    """One field of a line: its value, and its range in the line, including quotes."""

    value: str
    start: int
    end: int


def pattern_of(type_: Type) -> str | None:
    """Return the pattern of a type's fields, None if the type has no text form; any text is valid for text."""
    if type_.is_integer:
        return INTEGER if type_.signed else UNSIGNED
    return _PATTERNS.get(type_.kind)


def convert(field: TextField, column: Column) -> Any:
    """Return the value of a field. An empty field is NULL in a nullable column. Raises Malformed."""
    type_ = column.type
    if column.nullable and not field.value:
        return None
    if type_ is Type.STRING:
        return field.value
    if type_.is_integer and re.fullmatch(_OF_OTHER_BASE, field.value):
        return _in_range(field, int(field.value.strip(BLANKS), 0), type_)
    if not re.fullmatch(pattern_of(type_) or "", field.value):
        result = f"'{_shortened(field.value)}'" if field.value else "an empty field"
        raise _malformed(field, f"expected {phrase(type_)}, found {result}", _hint(field, type_))
    if type_.is_integer:
        return _in_range(field, int(field.value.strip(BLANKS)) if len(field.value) < 4000 else 2**64, type_)
    return _float(field, type_) if type_.is_float else _other(field, column)


def _other(field: TextField, column: Column) -> Any:
    """Return a decimal, truth value, date or time."""
    text, kind = field.value.strip(BLANKS), column.type.kind
    if kind is Kind.BOOLEAN:
        return text.lower() == "true"
    try:
        value = _READ[kind](text)
    except ValueError:
        raise _malformed(field, f"expected {phrase(column.type)}, found '{_shortened(text)}'") from None
    if kind is Kind.TIMESTAMP and value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    if (reason := problem(value, column)) is not None:
        raise _malformed(field, reason)
    return value


_READ: dict[Kind, Callable[[str], Any]] = {
    Kind.DECIMAL: decimal.Decimal,
    Kind.DATE: datetime.date.fromisoformat,
    Kind.TIMESTAMP: datetime.datetime.fromisoformat,
    Kind.TIMESTAMP_NTZ: datetime.datetime.fromisoformat,
    Kind.TIME: datetime.time.fromisoformat,
}


def _in_range(field: TextField, value: int, type_: Type) -> int:
    least, greatest = type_.range
    if least <= value <= greatest:
        return value
    shown = _shortened(field.value.strip(BLANKS))
    raise _malformed(field, f"{shown} is out of range for {phrase(type_)} ({least} to {greatest})")


def _float(field: TextField, type_: Type) -> float:
    value = round_float(float(field.value.strip(BLANKS)), type_)
    if math.isinf(value) and not re.fullmatch(SPECIAL, field.value):
        raise _malformed(field, f"{_shortened(field.value.strip(BLANKS))} is out of range for {phrase(type_)}")
    return value


def _malformed(field: TextField, reason: str, hint: str = "") -> Malformed:
    return Malformed(reason, field.start + 1, max(1, field.end - field.start), hint)


def _hint(field: TextField, type_: Type) -> str:
    has_fraction = type_.is_integer and re.fullmatch(DECIMAL, field.value) and re.search("[.eE]", field.value)
    return "numbers are whole here; a column of numbers with fractions is declared as float" if has_fraction else ""


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
