"""Renders rows as lines of text or JSON, with Arrow's kernels."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.tables import WEIGHT
from deltic.datalog.souffle.functions.structures import quoted, rewritten
from deltic.errors import UnsupportedError
from deltic.pipeline.io.layout import OP
from deltic.values.types import Kind, Type
from deltic.values.types.arrow import type_of_arrow


def text_lines(rows: pa.Table, delimiter: str, rfc4180: bool, quoted: Sequence[str] = ()) -> pa.ChunkedArray:
    """Return each row as a line of delimited text. WEIGHT, if there is one, becomes a first field + or -.

    With `rfc4180`, fields that need it are quoted, and so are all fields of the columns `quoted`.
    """
    names = [name for name in rows.column_names if name != WEIGHT]
    columns = [_text(rows[n], delimiter, rfc4180, n in quoted) for n in names] or [_constant("()", len(rows))]
    if WEIGHT in rows.column_names:
        columns.insert(0, pc.if_else(pc.greater(rows[WEIGHT], 0), "+", "-"))
    return _joined(columns, delimiter)


def header_line(names: Sequence[str], delimiter: str, signed: bool) -> str:
    """Return the first line of a file with the names of the columns."""
    return delimiter.join([OP, *names] if signed else names)


def json_lines(rows: pa.Table) -> pa.ChunkedArray:
    """Return each row as an object."""
    parts: list[Any] = []
    for name in rows.column_names:
        parts += [("," if parts else "") + json.dumps(name, ensure_ascii=False) + ":", _json(rows[name])]
    return _joined(["{", *parts, "}"], "") if parts else _constant("{}", len(rows))


def json_rows(rows: pa.Table, objects: bool, ready: Mapping[str, Any]) -> pa.ChunkedArray:
    """Return each row as an object or a list; `ready` has the JSON of some columns' values."""
    keys = [f"{json.dumps(name, ensure_ascii=False)}: " if objects else "" for name in rows.column_names]
    values = [ready[name] if name in ready else _json(rows[name]) for name in rows.column_names]
    begin, end = "{}" if objects else "[]"
    parts = [part for key, value in zip(keys, values, strict=True) for part in (f", {key}", value)]
    return _joined([begin + keys[0], *parts[1:], end], "")


def count_unreadable(rows: pa.Table, delimiter: str, rfc4180: bool) -> int:
    """Return the number of rows with text that delimited text cannot hold, so that they could not be read back."""
    if rfc4180:
        return 0
    hazards, unreadable = ["\n", "\r", delimiter], None
    for field in rows.schema:
        if pa.types.is_string(field.type):
            for hazard in hazards:
                result = pc.match_substring(rows[field.name], hazard)
                unreadable = result if unreadable is None else pc.or_(unreadable, result)
    return 0 if unreadable is None else pc.sum(unreadable).as_py() or 0


def unit_weights(changes: pa.Table) -> pa.Table:
    """Return changes with each row repeated as often as its weight, so that every weight is 1 or -1."""
    sizes = pc.abs(changes[WEIGHT])
    if pc.all(pc.equal(sizes, 1)).as_py() is not False:
        return changes
    repeated = [index for index, size in enumerate(sizes.to_pylist()) for _ in range(size)]
    taken = changes.take(pa.array(repeated, pa.int64()))
    return taken.set_column(
        taken.schema.get_field_index(WEIGHT), changes.schema.field(WEIGHT), pc.sign(taken[WEIGHT]).cast(pa.int64())
    )


def _text(values: Any, delimiter: str, rfc4180: bool, always: bool) -> Any:
    if pa.types.is_nested(values.type):
        remedy = "--format json and --format parquet keep it"
        raise UnsupportedError(f"a column of type {values.type} is not written as delimited text; {remedy}")
    texts = values.cast(pa.string())
    if not (rfc4180 and pa.types.is_string(values.type)):
        return texts
    special = pc.match_substring_regex(texts, rf'["\n\r]|{re.escape(delimiter)}')
    if not (always or pc.any(special).as_py()):
        return texts
    escaped = pc.replace_substring(texts, '"', '""')
    in_quotes = pc.binary_join_element_wise('"', escaped, '"', "")
    return in_quotes if always else pc.if_else(special, in_quotes, texts)


def _json(values: Any) -> Any:
    if values.type not in _PLAIN and not pa.types.is_decimal(values.type):
        type_ = type_of_arrow(values.type)
        return pa.array([json.dumps(_to_json(v, type_), ensure_ascii=False) for v in values.to_pylist()], pa.string())
    if pa.types.is_string(values.type):
        return map_distinct(values, lambda text: json.dumps(text, ensure_ascii=False))
    if pa.types.is_floating(values.type) and not pc.all(pc.is_finite(values)).as_py():
        return map_distinct(values, json.dumps)
    return pc.fill_null(values.cast(pa.string()), "null")


_PLAIN = {type_.arrow for type_ in Type.simple() if type_.is_numeric} | {pa.bool_(), pa.string()}


def _to_json(value: Any, type_: Type) -> Any:
    """Return a value as JSON, the inverse of `of_json`."""
    if value is None:
        return None
    match type_.kind:
        case Kind.ARRAY:
            return [_to_json(item, type_.element.type) for item in value]
        case Kind.STRUCT:
            return {column.name: _to_json(value[column.name], column.type) for column in type_.fields}
        case Kind.MAP:
            return [[_to_json(key, type_.key), _to_json(item, type_.value.type)] for key, item in value]
        case Kind.BINARY:
            return base64.b64encode(value).decode()
        case Kind.DAY_TIME_INTERVAL:
            return value // timedelta(microseconds=1)
        case Kind.YEAR_MONTH_INTERVAL:
            return value.months
        case Kind.DECIMAL:
            return str(value)
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ | Kind.TIME:
            return value.isoformat()
    return value


def map_distinct(values: Any, function: Any) -> Any:
    """Return a Python function's texts for values, called once for each distinct value; `null` for NULL."""
    encoded = pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    encoded = encoded.combine_chunks().dictionary_encode()
    words = pa.array([function(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return pc.fill_null(words.take(encoded.indices), "null")


def _joined(columns: list[Any], delimiter: str) -> pa.ChunkedArray:
    joined = pc.binary_join_element_wise(*columns, delimiter, null_handling="replace", null_replacement="")
    return joined if isinstance(joined, pa.ChunkedArray) else pa.chunked_array([joined])


def _constant(text: str, rows: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([text], pa.string()).take(pa.nulls(rows, pa.int64()).fill_null(0))])


_DIGITS = {"f": 17, "g": 9}
"""The number of digits of each kind of float."""


def printed(rows: pa.Table, structures: Mapping[str, str], rfc4180: bool) -> pa.Table:
    """Return the rows with floats and structures as text, as Soufflé prints them in delimited text.

    Floats have 17 digits, those of 32 bits 9. Symbols in structures are not quoted, but where fields may be quoted.
    `structures` are columns with their families.
    """
    field_of = _quoted_field if rfc4180 else _field
    for place, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            digits = _DIGITS["g" if field.type == pa.float32() else "f"]
            texts = map_distinct(rows[field.name], lambda value, digits=digits: f"{value:.{digits}g}")
            rows = rows.set_column(place, field.name, texts)
        elif (family := structures.get(field.name)) and ("symbol" in family or "float" in family):
            texts = map_distinct(
                rows[field.name], lambda text, family=family: rewritten(family, text, field_of) or text
            )
            rows = rows.set_column(place, field.name, texts)
    return rows


def _field(letter: str, value: Any) -> str:
    return f"{value:.{_DIGITS[letter]}g}" if letter in _DIGITS else str(value)


def _quoted_field(letter: str, value: Any) -> str:
    return quoted(value) if letter == "s" else _field(letter, value)
