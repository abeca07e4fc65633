"""A file of JSON that is one array of rows, lists or objects, as Soufflé reads and writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import IO, Any

import pyarrow as pa

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.envelopes import Signed
from deltic.pipeline.io.layout import Layout
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.objects import of_json_object
from deltic.pipeline.io.parsed import Batch, rows_to_table
from deltic.pipeline.io.render import json_lines, json_lists


def is_array(data: bytes) -> bool:
    """Whether what begins so is an array, and not lines of objects."""
    return data.lstrip(b" \t\r\n").startswith(b"[")


def read_array(data: bytes, layout: Layout, file: str) -> Batch:
    """The rows of a file; findings tell the number of the row, from 1. Raises DataError where it is no array."""
    try:
        found = json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise DataError([Diagnostic(f"not JSON: {error}", file)]) from error
    rows, rejects = list[Signed](), list[Diagnostic]()
    for number, value in enumerate(found, 1):
        try:
            rows.append(of_json_object(_named(value, layout), layout))
        except Malformed as error:
            error.reason = f"row {number}, {error.reason}"
            rejects.append(error.at(file, number, json.dumps(value, default=str, ensure_ascii=False)))
    return Batch(rows_to_table(rows, layout.schema, layout.signed), tuple(rejects))


def _named(value: Any, layout: Layout) -> dict[str, Any]:
    """A row by the names of its columns; raises Malformed."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        raise Malformed("expected a list of the columns' values, or an object with their names")
    if len(value) != layout.width:
        raise Malformed(f"expected {layout.width} values, found {len(value)}")
    return dict(zip(layout.schema.names, value, strict=True))


def write_array(rows: pa.Table, objects: bool, stream: IO[bytes]) -> None:
    """The rows as one array of objects or lists, a row to a line."""
    lines = json_lines(rows) if objects else json_lists(rows)
    stream.write(b"[" + b",\n".join(_encoded(lines)) + b"]\n")


def _encoded(lines: pa.ChunkedArray) -> Iterator[bytes]:
    return (line.as_py().encode() for line in lines)
