"""Rows of delimited text whose quoted fields extend over lines: which lines are one row.

A quote that is never closed opens no field that goes on: its line is a row by itself, and malformed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from deltic.pipeline.io.delimited import is_well_quoted
from deltic.pipeline.io.layout import FileKind, FileLayout

LONGEST = 64 << 20
"""How many bytes a row has at most for whose closing quote further lines are read."""


def may_have_lines(layout: FileLayout) -> bool:
    """Whether a row may extend over lines."""
    return layout.kind is FileKind.TEXT and layout.rfc4180


def whole_rows(blocks: Iterable[bytes], layout: FileLayout) -> Iterator[bytes]:
    """Blocks of whole lines as blocks of whole rows."""
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
    """Whether every line is a row, as far as can be told at once."""
    return not may_have_lines(layout) or b'"' not in data or is_well_quoted(data, layout)


def starts(data: bytes, layout: FileLayout) -> list[int]:
    """Where the rows of whole lines begin."""
    row, result, place = _row(layout.delimiter, layout.signed), list[int](), 0
    while place < len(data):
        result.append(place)
        match = row.match(data, place)
        place = match.end() if match else data.index(b"\n", place) + 1
    return result


def _open(data: bytes, layout: FileLayout) -> int:
    """Where the first row begins whose last quote is not closed in the data; the end where there is none."""
    is_open = _open_row(layout.delimiter, layout.signed)
    return next((place for place in starts(data, layout) if is_open.match(data, place)), len(data))


@cache
def _row(delimiter: str, signed: bool) -> re.Pattern[bytes]:
    """A row whose quoted fields are closed, with its newline."""
    return re.compile(f"{_fields(delimiter, signed)}{_field(delimiter)}\\r?\\n".encode())


@cache
def _open_row(delimiter: str, signed: bool) -> re.Pattern[bytes]:
    """A row that ends in a quoted field which is not closed, up to the end of the data."""
    return re.compile(f'{_fields(delimiter, signed)}"(?:[^"]|"")*+\\Z'.encode())


def _fields(delimiter: str, signed: bool) -> str:
    """The sign of a row, if it has one, and fields with the delimiters behind them."""
    return f"{'[+-]?' if signed else ''}(?:{_field(delimiter)}{re.escape(delimiter)})*"


def _field(delimiter: str) -> str:
    """A field: in quotes, or without a quote at its begin and with none of what ends it."""
    end = re.escape(delimiter)
    return f'(?:"(?:[^"]|"")*+"|(?!")[^{end}\\n]*+)'
