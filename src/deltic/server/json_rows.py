"""Rows as JSON that every client reads without loss.

Integers beyond ±2^53 and decimals are texts, because JavaScript would round them; NaN and infinities are texts, because
JSON lacks them; times are in ISO 8601, bytes in base 64, maps lists of pairs. Patterns of rows are read from it.
"""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.json_values import of_json
from deltic.pipeline.names import find
from deltic.values.types import Schema

_EXACT = 2**53
_AS_THEY_ARE = (pa.string(), pa.bool_(), pa.int32(), pa.int16(), pa.int8(), pa.uint32(), pa.uint16(), pa.uint8())


def plain(value: Any) -> Any:
    """Convert a value for JSON."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -_EXACT <= value <= _EXACT else str(value)
    if isinstance(value, float):
        return value if value - value == 0 else {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value, "NaN")
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def listed(rows: pa.Table) -> list[list[Any]]:
    """Rows as lists in the order of the columns."""
    columns = [_column(column) for column in rows.columns]
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(len(rows))]


def weighted(rows: pa.Table) -> dict[str, Any]:
    """Rows with a column of weights, and these apart."""
    return {"rows": listed(rows.drop_columns([WEIGHT])), "weights": rows.column(WEIGHT).to_pylist()}


def _column(column: pa.ChunkedArray) -> list[Any]:
    values = column.to_pylist()
    return values if column.type in _AS_THEY_ARE else [plain(value) for value in values]


def columns_of(rows: pa.Table) -> list[dict[str, str]]:
    """Return the names and types of columns."""
    schema = Schema.of_arrow(rows.schema)
    return [{"name": column.name, "type": str(column.type)} for column in schema]


def dumped(value: Any) -> bytes:
    """Serialize to JSON in UTF-8; other values are converted."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain).encode()


def pattern_of(name: str, schema: Schema, value: Any) -> dict[str, Any]:
    """Values by column from an object of JSON, or a list with a value of each column; raises DelticError.

    Integers and decimals may be texts, as answers have them.
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != len(schema):
            raise DataError([Diagnostic(f"{name} has the columns {', '.join(schema.names)}: give as many values")])
        value = dict(zip(schema.names, value, strict=True))
    if not isinstance(value, Mapping):
        raise DataError([Diagnostic(f"a row of {name} is an object with values of its columns, or a list of all")])
    columns = {column.name: column for column in schema}
    result = {}
    for each, given in value.items():
        column = find(each, "column", columns, within=name)
        try:
            is_text = column.type.is_integer and isinstance(given, str)
            result[each] = int(given) if is_text else of_json(given, column.type)
        except ValueError:
            raise DataError([Diagnostic(f"{name}, column {each}: {given!r} is no {column.type}")]) from None
    return result
