"""Changes as Debezium writes them: envelopes with a row before and after, and what was done to it.

An envelope is an object with `before`, `after` and `op`, by itself or as the `payload` beside a `schema`; other fields
are passed over. `c` and `r` (a row that a snapshot has read) insert `after`, `d` deletes `before`, `u` does both. A
tombstone, which is null, follows a deletion and says nothing. What JSON has no value for is told by the schema, where
there is one: days, milliseconds and microseconds since 1970, decimals as bytes.
"""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from deltic.circuit.types import Column, Kind, Schema
from deltic.errors import nearest
from deltic.pipeline.io.layout import Layout, phrase
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.values import problem, shown

Signed = tuple[tuple[Any, ...], int]
"""The values of a row, and how often it comes (goes, where negative)."""

PARTS = ("before", "after", "op")
_EPOCH = datetime.datetime(1970, 1, 1)
_SIGNS = {"c": {"after": 1}, "r": {"after": 1}, "d": {"before": -1}, "u": {"before": -1, "after": 1}, "m": {}}


def is_envelope(record: Any, layout: Layout) -> bool:
    """Whether a record is a change rather than a row of the table: a tombstone is one, too."""
    if record is None:
        return True
    names = layout.schema.names
    if isinstance(record, Mapping) and "payload" in record and "payload" not in names:
        return record["payload"] is None or isinstance(record["payload"], Mapping)
    return isinstance(record, Mapping) and are_envelopes(record, layout)


def are_envelopes(names: Any, layout: Layout) -> bool:
    """Whether records with these fields are changes."""
    return "op" in names and ("before" in names or "after" in names) and not set(PARTS) & set(layout.schema.names)


def opened(record: Mapping[str, Any] | None, layout: Layout) -> list[Signed]:
    """The rows that go and come by an envelope; raises Malformed."""
    if record is None:
        return []
    wrapped = "payload" in record and "payload" not in layout.schema.names
    payload = record["payload"] if wrapped else record
    if payload is None:
        return []
    fields = _fields(record.get("schema")) if wrapped else {}
    op = payload.get("op")
    if op not in _SIGNS:
        remedy = "; truncate the table by deleting its rows" if op == "t" else ""
        raise Malformed(f"op: expected c, r, u or d, found {shown(op)}{remedy}")
    return [(_row(payload.get(part), part, op, layout.schema, fields), sign) for part, sign in _SIGNS[op].items()]


def _row(row: Any, part: str, op: str, schema: Schema, fields: Mapping[str, Mapping[str, Any]]) -> tuple[Any, ...]:
    if row is None:
        hint = "have the source log whole rows: in Postgres ALTER TABLE … REPLICA IDENTITY FULL" * (part == "before")
        raise Malformed(f"{part} is missing in a change with op {op}", hint=hint)
    if not isinstance(row, Mapping):
        raise Malformed(f"{part}: expected an object with the columns as its keys, found {shown(row)}")
    for name in schema.names:
        if name not in row:
            found = nearest(name, row)
            raise Malformed(f"{part}: column {name} is missing", hint=f"there is a column {found}" if found else "")
    return tuple(_value(row[column.name], column, part, fields.get(column.name, {})) for column in schema)


def _value(value: Any, column: Column, part: str, field: Mapping[str, Any]) -> Any:
    try:
        found = _READ[column.type.kind](value, field) if column.type.kind in _READ and value is not None else value
    except (ValueError, ArithmeticError, binascii.Error):
        expected = f"expected {phrase(column.type)}, found {shown(value)}"
        raise Malformed(f"{part}: column {column.name}: {expected}") from None
    reason = problem(found, column)
    if reason is not None:
        raise Malformed(f"{part}: column {column.name}: {reason}")
    return found


def _fields(schema: Any) -> dict[str, Mapping[str, Any]]:
    """What the schema beside a payload says of each column."""
    try:
        parts = [part for part in schema["fields"] if part.get("field") in ("before", "after")]
        return {field["field"]: field for part in parts for field in part.get("fields", ())}
    except (TypeError, KeyError, AttributeError):
        return {}


def _boolean(value: Any, field: Mapping[str, Any]) -> Any:
    return bool(value) if value in (0, 1) else value


def _integer(value: Any, field: Mapping[str, Any]) -> Any:
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


def _float(value: Any, field: Mapping[str, Any]) -> Any:
    return float(value) if isinstance(value, Decimal | str) else value


def _decimal(value: Any, field: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping) and value.keys() == {"scale", "value"}:
        return _of_bytes(value["value"], int(value["scale"]))
    if isinstance(value, str):
        scale = field.get("parameters", {}).get("scale")
        return Decimal(value) if scale is None else _of_bytes(value, int(scale))
    return Decimal(str(value)) if isinstance(value, float) else value


def _of_bytes(text: str, scale: int) -> Decimal:
    """A decimal of a scale by the bytes, in base 64, of its digits as one integer."""
    return Decimal(int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)).scaleb(-scale)


def _binary(value: Any, field: Mapping[str, Any]) -> Any:
    return base64.b64decode(value, validate=True) if isinstance(value, str) else value


def _date(value: Any, field: Mapping[str, Any]) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return (_EPOCH + datetime.timedelta(days=value)).date()
    return datetime.date.fromisoformat(value) if isinstance(value, str) else value


_UNITS = {"Timestamp": 1_000, "MicroTimestamp": 1}


def _clock(value: Any, field: Mapping[str, Any]) -> Any:
    """A time without a zone."""
    if isinstance(value, str):
        return datetime.datetime.fromisoformat(value)
    unit = str(field.get("name", "")).rpartition(".")[2]
    if isinstance(value, int) and unit in _UNITS:
        return _EPOCH + datetime.timedelta(microseconds=value * _UNITS[unit])
    if isinstance(value, int) and unit == "NanoTimestamp" and value % 1_000 == 0:
        return _EPOCH + datetime.timedelta(microseconds=value // 1_000)
    return value


def _instant(value: Any, field: Mapping[str, Any]) -> Any:
    found = _clock(value, field)
    return found.replace(tzinfo=datetime.UTC) if isinstance(value, int) and found is not value else found


_INTEGERS = [kind for kind in Kind if kind.value.lstrip("u").startswith("int")]
_READ: dict[Kind, Callable[[Any, Mapping[str, Any]], Any]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    Kind.BOOLEAN: _boolean,
    Kind.FLOAT32: _float,
    Kind.FLOAT64: _float,
    Kind.DECIMAL: _decimal,
    Kind.BINARY: _binary,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _instant,
    Kind.TIMESTAMP_NTZ: _clock,
}
