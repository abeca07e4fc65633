"""Rows of delimited text whose quoted fields extend over lines: finds the lines of each row.

A quote that is never closed does not continue a field: its line is a row on its own, and malformed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from deltic.pipeline.io.delimited import is_well_quoted
from deltic.pipeline.io.layout import FileKind, FileLayout

LONGEST = 64 << 20
"""The most bytes of a row for whose closing quote further lines are read."""


def may_have_lines(layout: FileLayout) -> bool:
    """Return whether a row may extend over lines."""
    return layout.kind is FileKind.TEXT and layout.rfc4180


def whole_rows(blocks: Iterable[bytes], layout: FileLayout) -> Iterator[bytes]:
    """Turn blocks of whole lines into blocks of whole rows."""
    begun = b""
    for block in blocks:
        data = begun + block
        end = len(data) if is_plain(data, layout) else _open(data, layout)
        end = end if len(data) - end < LONGEST else len(data)
        begun = data[end:]
        if end:
            yield data[:end]
    if begun:
        yield begun


def is_plain(data: bytes, layout: FileLayout) -> bool:
    """Return whether every line is surely a row."""
    return not may_have_lines(layout) or b'"' not in data or is_well_quoted(data, layout)


def starts(data: bytes, layout: FileLayout) -> list[int]:
    """Return the starts of the rows of whole lines."""
    row, result, place = _row(layout.delimiter, layout.signed), list[int](), 0
    while place < len(data):
        result.append(place)
        match = row.match(data, place)
        place = match.end() if match else data.index(b"\n", place) + 1
    return result


def _open(data: bytes, layout: FileLayout) -> int:
    """Return the start of the first row whose last quote is not closed in the data; the end if there is none."""
    is_open = _open_row(layout.delimiter, layout.signed)
    return next((place for place in starts(data, layout) if is_open.match(data, place)), len(data))


@cache
def _row(delimiter: str, signed: bool) -> re.Pattern[bytes]:
    """Return the pattern of a row whose quoted fields are closed, with its newline."""
    return re.compile(f"{_fields(delimiter, signed)}{_field(delimiter)}\\r?\\n".encode())


@cache
def _open_row(delimiter: str, signed: bool) -> re.Pattern[bytes]:
    """Return the pattern of a row that ends in an unclosed quoted field, up to the end of the data."""
    return re.compile(f'{_fields(delimiter, signed)}"(?:[^"]|"")*+\\Z'.encode())


def _fields(delimiter: str, signed: bool) -> str:
    """Return the pattern of a row's sign, if it has one, and of fields with their delimiters."""
    return f"{'[+-]?' if signed else ''}(?:{_field(delimiter)}{re.escape(delimiter)})*"


def _field(delimiter: str) -> str:
    """Return the pattern of a field: quoted, or not starting with a quote and without the delimiter."""
    end = re.escape(delimiter)
    return f'(?:"(?:[^"]|"")*+"|(?!")[^{end}\\n]*+)'
