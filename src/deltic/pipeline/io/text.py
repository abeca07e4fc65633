"""Parses one line of delimited text, and describes its errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from deltic.errors import DataError, Diagnostic, UnsupportedError, count_of
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.text_fields import TextField, convert, pattern_of
from deltic.values.types import Type


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
    remedy = "headers=true in its .input, --headers for tables without one, deltic.File(…, headers=True) in Python"
    return f"this looks like a header: {remedy}" if is_header else ""


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
    return Malformed(reason, len(line) + 1, 1, delimiter_hint(line, layout.delimiter) if wrong_delimiter else "")


def delimiter_hint(line: str, delimiter: str) -> str:
    """Return how to name another delimiter, for a line that has one field; it guesses which one."""
    other = next((each for each in _USUAL if each in line and each != delimiter), ";")
    shown = {"\t": "\\t"}.get(other, other)
    return (
        f"fields are separated by {_NAMES.get(delimiter, repr(delimiter))} here; for another write "
        f"delimiter=\"{shown}\" in Python and Datalog, OPTIONS (sep '{shown}') in SQL"
    )


def check_delimiter(path: str | Path, names: Sequence[str], delimiter: str, remedy: str = "") -> None:
    """Raise DataError where the header has one name with a character that often separates fields."""
    if len(names) == 1 and any(other in names[0] for other in _USUAL):
        hint = remedy or delimiter_hint(names[0], delimiter)
        raise DataError([Diagnostic("the file has one column", str(path), 1, 1, names[0], len(names[0]), hint)])


_USUAL = (";", "\t", "|", ",")
_NAMES = {"\t": "a tab", ",": "a comma", " ": "a blank"}
