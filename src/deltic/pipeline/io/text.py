"""Parses one line of delimited text, and describes its errors."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from deltic.errors import UnsupportedError, count_of
from deltic.pipeline.io.layout import FileLayout, phrase
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.values import problem
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


def parse_line(line: str, layout: FileLayout) -> tuple[tuple[Any, ...], int]:
    """Return the row of a line, and its weight. Raises Malformed. The line has no newline and is not blank."""
    start, weight = _sign(line) if layout.signed else (0, 1)
    fields = list(split(line, start, layout))
    if layout.signed and len(fields) != max(layout.width, 1) and fields[0].start == fields[0].end:
        fields = fields[1:]  # what a sign that stands apart has left
    if layout.width == 0:
        return _nullary(fields), weight
    if layout.as_souffle and not layout.places:
        fields = fields[: layout.width]
    if layout.places:
        fields = _chosen(line, fields, layout)
    if len(fields) != layout.width:
        raise _wrong_count(line, fields, layout)
    return tuple(convert(f, c) for f, c in zip(fields, layout.schema, strict=True)), weight


def split(line: str, start: int, layout: FileLayout) -> Iterator[TextField]:
    """Yield the fields of a line from `start` on, at least one."""
    while True:
        field = _quoted(line, start, layout) if layout.rfc4180 and line.startswith('"', start) else None
        field = field or _plain(line, start, layout)
        yield field
        if field.end == len(line):
            return
        start = field.end + len(layout.delimiter)


def check_types(layout: FileLayout) -> None:
    """Raise UnsupportedError if a column's type has no text form."""
    for column in layout.schema:
        if pattern_of(column.type) is None and column.type is not Type.STRING:
            raise UnsupportedError(
                f"column {column.name}: a column of type {column.type} is not read from delimited text; "
                "use Parquet or a DataFrame"
            )


def header_hint(line: str, layout: FileLayout) -> str:
    """Return the advice for a malformed first line that has the names of the columns; "" if it does not."""
    words = {word.strip(' "').lower() for word in line.split(layout.delimiter)}
    is_header = layout.width > 0 and words.issuperset(name.lower() for name in layout.schema.names)
    return "this looks like a header: say --headers, or headers=true where there is an .input" if is_header else ""


def _sign(line: str) -> tuple[int, int]:
    if line[:1] in ("+", "-"):
        return 1, 1 if line[0] == "+" else -1
    raise Malformed("expected + or - at the start of the row, for an insertion or a deletion", 1)


def _plain(line: str, start: int, layout: FileLayout) -> TextField:
    end = line.find(layout.delimiter, start)
    end = len(line) if end < 0 else end
    if layout.has_brackets and "[" in line[start:end]:
        end = _behind_brackets(line, start, layout.delimiter) or end
    return TextField(line[start:end], start, end)


def _behind_brackets(line: str, start: int, delimiter: str) -> int | None:
    """Return the end of a field that may have delimiters between brackets; None if a bracket is not closed."""
    depth = 0
    for mark in re.compile(rf"\[|\]|{re.escape(delimiter)}").finditer(line, start):
        if mark[0] == delimiter and not depth:
            return mark.start()
        depth = max(0, depth + {"[": 1, "]": -1}.get(mark[0], 0))
    return None if depth else len(line)


_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def _quoted(line: str, start: int, layout: FileLayout) -> TextField:
    match = _QUOTED.match(line, start)
    if match is None:
        raise Malformed("this quote is never closed", start + 1, 1, "a quote inside of quotes is written twice")
    if match.end() != len(line) and not line.startswith(layout.delimiter, match.end()):
        wanted = f"expected {layout.delimiter!r} or the end of the line after the closing quote"
        raise Malformed(f"{wanted}, found {line[match.end()]!r}", match.end() + 1)
    return TextField(match[1].replace('""', '"'), start, match.end())


def _nullary(fields: list[TextField]) -> tuple[()]:
    if len(fields) == 1 and fields[0].value in ("()", ""):
        return ()
    raise Malformed("expected () or nothing, the row of a relation without columns", fields[0].start + 1)


def _chosen(line: str, fields: list[TextField], layout: FileLayout) -> list[TextField]:
    """Return the fields of the columns, in their order."""
    if len(fields) <= max(layout.places):
        said = f"columns={':'.join(map(str, layout.places))}" if layout.as_souffle else "the first line names so many"
        wanted = f"expected at least {max(layout.places) + 1} fields, since {said}"
        raise Malformed(f"{wanted}, found {len(fields)}", len(line) + 1)
    return [fields[place] for place in layout.places]


def _wrong_count(line: str, fields: list[TextField], layout: FileLayout) -> Malformed:
    expected = count_of(layout.width, "field")
    reason = f"expected {expected}, found {len(fields)}"
    if len(fields) > layout.width:
        extra = fields[layout.width]
        return Malformed(reason, extra.start + 1, max(1, extra.end - extra.start))
    wrong_delimiter = len(fields) == 1 and layout.width > 1
    hint = _DELIMITER_HINT.format(_NAMES.get(layout.delimiter, repr(layout.delimiter))) if wrong_delimiter else ""
    return Malformed(reason, len(line) + 1, 1, hint)


_DELIMITER_HINT = 'fields are separated by {} here; .input has an option for another, as in delimiter=";"'
_NAMES = {"\t": "a tab", ",": "a comma", " ": "a blank"}


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
        return _integer(field, type_)
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
}


def _integer(field: TextField, type_: Type) -> int:
    return _in_range(field, int(field.value.strip(BLANKS)) if len(field.value) < 4000 else 2**64, type_)


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
