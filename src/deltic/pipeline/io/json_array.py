"""JSON files with one array of rows, lists or objects, as Soufflé reads and writes them."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.envelopes import Signed
from deltic.pipeline.io.json_structures import structure_of_json, structure_to_json
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.objects import of_json_object
from deltic.pipeline.io.parsed import ParsedRows, rows_to_table
from deltic.pipeline.io.render import json_rows, map_distinct

if TYPE_CHECKING:
    from deltic.pipeline.io.directives import Output


def is_array(data: bytes) -> bool:
    """Return whether a text with this start is an array, not lines of objects."""
    return data.lstrip(b" \t\r\n").startswith(b"[")


def read_array(data: bytes, layout: FileLayout, file: str) -> ParsedRows:
    """Return the rows of a file. Findings have the number of the row, from 1. DataError if it is not an array."""
    try:
        result = json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise DataError([Diagnostic(f"not JSON: {error}", file)]) from error
    rows, rejects = list[Signed](), list[Diagnostic]()
    for number, value in enumerate(result, 1):
        try:
            rows.append(of_json_object(_with_structures(_named(value, layout), layout), layout))
        except Malformed as error:
            error.reason = f"row {number}, {error.reason}"
            rejects.append(error.at(file, number, json.dumps(value, default=str, ensure_ascii=False)))
    return ParsedRows(rows_to_table(rows, layout.schema, layout.signed), tuple(rejects))


def _named(value: Any, layout: FileLayout) -> dict[str, Any]:
    """Return a row by column name. Raises Malformed."""
    if isinstance(value, dict):
        return value
    if value is None and not layout.width:
        return {}
    if not isinstance(value, list):
        raise Malformed("expected a list of the columns' values, or an object with their names")
    if len(value) != layout.width:
        raise Malformed(f"expected {layout.width} values, found {len(value)}")
    return dict(zip(layout.schema.names, value, strict=True))


def _with_structures(row: dict[str, Any], layout: FileLayout) -> dict[str, Any]:
    """Return a row with the texts of its structures. Raises Malformed."""
    result = dict(row)
    for name, family in layout.structures:
        try:
            result |= {name: structure_of_json(family, row[name], layout.records)} if name in row else {}
        except ValueError as error:
            raise Malformed(f"column {name}: {error}") from None
    return result


def write_array(rows: pa.Table, output: Output, stream: IO[bytes]) -> None:
    """Write the rows as one array of objects or lists, one row on a line; null for rows without columns."""
    if not rows.num_columns:
        stream.write(b"[" + b",\n".join([b"null\n"] * len(rows)) + b"]\n")
        return
    ready = {
        name: map_distinct(
            rows[name], partial(structure_to_json, family, records=output.records if output.objects else None)
        )
        for name, family in (output.structures or {}).items()
    }
    lines = json_rows(rows, output.objects, ready)
    stream.write(b"[" + b",\n".join(line.as_py().encode() for line in lines) + b"]\n")
