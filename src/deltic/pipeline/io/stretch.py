"""Parses many lines of a file to rows, and malformed lines to findings.

`parse_line` and `parse_json` define the meaning of a line; some rows of delimited text are several lines. Many lines
are first given to Arrow's reader. If that cannot read all of them reliably, they are halved, and few lines are read one
by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa

from deltic.pipeline.io import delimited, json_lines, records
from deltic.pipeline.io.layout import FileKind, FileLayout
from deltic.pipeline.io.objects import parse_json
from deltic.pipeline.io.parsed import Malformed, ParsedRows, rows_to_table
from deltic.pipeline.io.text import parse_line

_FEW = 32


def parse(data: bytes, first: int, layout: FileLayout, file: str) -> Iterator[ParsedRows]:
    """Yield the rows of whole lines, each with its newline; `first` is the number of the first line in the file.

    Delimited text must consist of whole rows.
    """
    lines = data.count(b"\n")
    table = at_once(data, layout) if lines > _FEW else None
    middle = _middle(data, layout) if lines > _FEW and table is None else 0
    if table is not None:
        yield ParsedRows(table, lines=lines)
    elif middle in (0, len(data)):
        yield _one_by_one(data, first, layout, file)
    else:
        yield from parse(data[:middle], first, layout, file)
        yield from parse(data[middle:], first + data.count(b"\n", 0, middle), layout, file)


def at_once(data: bytes, layout: FileLayout) -> pa.Table | None:
    """Return the rows of whole lines by Arrow's reader; None if it cannot read all of them reliably."""
    return delimited.at_once(data, layout) if layout.kind is FileKind.TEXT else json_lines.at_once(data, layout)


def _middle(data: bytes, layout: FileLayout) -> int:
    """Return the start of a row near the middle."""
    if not records.is_plain(data, layout):
        places = records.starts(data, layout)
        return places[len(places) // 2]
    middle = data.find(b"\n", len(data) // 2) + 1
    return middle if middle < len(data) else data.rfind(b"\n", 0, len(data) // 2) + 1


def _one_by_one(data: bytes, first: int, layout: FileLayout, file: str) -> ParsedRows:
    rows, rejects = list[tuple[tuple[Any, ...], int]](), []
    for number, line in _numbered(data, first, layout):
        if _is_blank(line, layout):
            continue
        try:
            rows += _rows(line, layout)
        except Malformed as error:
            rejects.append(error.at(file, number, _shown(line)))
    return ParsedRows(rows_to_table(rows, layout.schema, layout.signed), tuple(rejects), data.count(b"\n"))


def _numbered(data: bytes, first: int, layout: FileLayout) -> Iterator[tuple[int, bytes]]:
    """Yield the rows without their newlines, each with the number of its first line."""
    if not records.may_have_lines(layout):
        yield from enumerate(data.removesuffix(b"\n").split(b"\n") if data else [], first)
        return
    places = records.starts(data, layout)
    for begin, end in pairwise([*places, len(data)]):
        yield first, data[begin : end - 1]
        first += data.count(b"\n", begin, end)


def _is_blank(line: bytes, layout: FileLayout) -> bool:
    """Return whether a line is skipped."""
    if layout.kind is FileKind.JSON:
        return not line.strip(b" \t\r")
    return not layout.keeps_blank_lines and line in (b"", b"\r")


def _rows(line: bytes, layout: FileLayout) -> list[tuple[tuple[Any, ...], int]]:
    """Return the row and weight of a line without its newline, or those of a change. Raises Malformed."""
    try:
        text = line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError:
        column = _shown(line).find("\N{REPLACEMENT CHARACTER}") + 1
        raise Malformed("the line is not UTF-8 text", column, hint="save the file as UTF-8") from None
    return [parse_line(text, layout)] if layout.kind is FileKind.TEXT else parse_json(text, layout)


def _shown(line: bytes) -> str:
    """Return a row's first line for messages, without carriage return, with U+FFFD for invalid UTF-8."""
    return line.partition(b"\n")[0].decode("utf-8", "replace").removesuffix("\r")
