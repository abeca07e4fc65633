"""Changes in Debezium's format: envelopes with a row before and after a change, and the kind of change.

An envelope is an object with `before`, `after` and `op`, on its own or as the `payload` beside a `schema`; other fields
are ignored. `c` and `r` (a row of a snapshot) insert `after`, `d` deletes `before`, `u` does both. If the table has a
key, `r` and `u` let `after` replace the row with its key, and `d` only needs the key. A tombstone, which is null,
follows a deletion and is ignored. Values that JSON does not have are described by the schema, if there is one: days,
milliseconds and microseconds since 1970, decimals as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltic.engine.keyed import BY_KEY, UPSERT
from deltic.errors import nearest
from deltic.pipeline.io.json_values import of_json
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.rounding import Rounding, fitted
from deltic.pipeline.io.values import phrase, shown
from deltic.values.types import Column, Schema

Signed = tuple[tuple[Any, ...], int]
"""The values of a row, and its weight."""

Fields = Mapping[str, Mapping[str, Any]]
"""A Kafka Connect schema's description of each column."""

_REMEDY = (
    "declare the key of the table, or have the source log whole rows: in Postgres ALTER TABLE … REPLICA IDENTITY FULL"
)
PARTS = ("before", "after", "op")
_SIGNS = {"c": {"after": 1}, "r": {"after": 1}, "d": {"before": -1}, "u": {"before": -1, "after": 1}, "m": {}}


def is_envelope(record: Any, layout: FileLayout) -> bool:
    """Return whether a record is a change instead of a row of the table; a tombstone is one, too."""
    if record is None:
        return True
    names = layout.schema.names
    if isinstance(record, Mapping) and "payload" in record and "payload" not in names:
        return record["payload"] is None or isinstance(record["payload"], Mapping)
    return isinstance(record, Mapping) and are_envelopes(record, layout)


def are_envelopes(names: Any, layout: FileLayout) -> bool:
    """Return whether records with these fields are changes."""
    return "op" in names and ("before" in names or "after" in names) and not set(PARTS) & set(layout.schema.names)


def opened(record: Mapping[str, Any] | None, layout: FileLayout) -> list[Signed]:
    """Return the deleted and inserted rows of an envelope. Raises Malformed."""
    if record is None:
        return []
    wrapped = "payload" in record and "payload" not in layout.schema.names
    payload = record["payload"] if wrapped else record
    if payload is None:
        return []
    fields = _fields(record.get("schema")) if wrapped else {}
    op = payload.get("op")
    if layout.key and op in ("r", "u", "d"):
        return _by_key(payload, op, layout, fields)
    if op not in _SIGNS:
        remedy = "; truncate the table by deleting its rows" if op == "t" else ""
        raise Malformed(f"op: expected c, r, u or d, found {shown(op)}{remedy}")
    return [
        (_row(payload.get(part), part, op, layout.schema, fields, layout.rounding), sign)
        for part, sign in _SIGNS[op].items()
    ]


def _by_key(payload: Mapping[str, Any], op: str, layout: FileLayout, fields: Fields) -> list[Signed]:
    """Return the changes for a table with a key: `before` may be missing, or only have the key."""
    gone = payload.get("before")
    if op == "d":
        return [(_key_of(gone, op, layout, fields), BY_KEY)]
    come = _row(payload.get("after"), "after", op, layout.schema, fields, layout.rounding)
    if op == "u" and isinstance(gone, Mapping) and all(name in gone for name in layout.key):
        old = _key_of(gone, op, layout, fields)
        if any(a != b for a, b, c in zip(old, come, layout.schema, strict=True) if c.name in layout.key):
            return [(old, BY_KEY), (come, UPSERT)]
    return [(come, UPSERT)]


def _key_of(row: Any, op: str, layout: FileLayout, fields: Fields) -> tuple[Any, ...]:
    """Return a row with the values of the key in their places, None elsewhere."""
    key = Schema(tuple(column for column in layout.schema if column.name in layout.key))
    values = dict(zip(key.names, _row(row, "before", op, key, fields, layout.rounding), strict=True))
    return tuple(values.get(name) for name in layout.schema.names)


def _row(row: Any, part: str, op: str, schema: Schema, fields: Fields, rounding: Rounding | None) -> tuple[Any, ...]:
    if row is None:
        hint = _REMEDY * (part == "before")
        raise Malformed(f"{part} is missing in a change with op {op}", hint=hint)
    if not isinstance(row, Mapping):
        raise Malformed(f"{part}: expected an object with the columns as its keys, found {shown(row)}")
    for name in schema.names:
        if name not in row:
            result = nearest(name, row)
            raise Malformed(f"{part}: column {name} is missing", hint=f"there is a column {result}" if result else "")
    return tuple(_value(row[column.name], column, part, fields.get(column.name, {}), rounding) for column in schema)


def _value(value: Any, column: Column, part: str, field: Mapping[str, Any], rounding: Rounding | None) -> Any:
    expected = ""
    try:
        value = of_json(value, column.type, field)
    except ValueError:
        expected = f"expected {phrase(column.type)}, found {shown(value)}"
    result, reason = fitted(value, column, rounding)
    if reason is not None:
        raise Malformed(f"{part}: column {column.name}: {expected or reason}")
    return result


def _fields(schema: Any) -> Fields:
    """Return the description of each column in the schema beside a payload."""
    try:
        parts = [part for part in schema["fields"] if part.get("field") in ("before", "after")]
        return {field["field"]: field for part in parts for field in part.get("fields", ())}
    except (TypeError, KeyError, AttributeError):
        return {}
