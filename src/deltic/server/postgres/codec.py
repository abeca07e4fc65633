"""Values as bytes, in PostgreSQL's text and binary formats, by the adapters of psycopg."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from psycopg import adapters
from psycopg.adapt import Transformer
from psycopg.pq import Format

from deltic.server.postgres import types as pg
from deltic.server.postgres.errors import PostgresError

TEXT_FORMAT, BINARY_FORMAT = 0, 1
_TRANSFORMER = Transformer()
_AS_TEXT = (pg.TEXT, pg.VARCHAR, pg.UNKNOWN, pg.JSON, pg.TIME, 0, 18, 19, 1042)
_TRUE, _FALSE = (b"t", b"true", b"1", b"yes", b"on", b"y"), (b"f", b"false", b"0", b"no", b"off", b"n")


def load(oid: int, form: int, data: bytes) -> Any:
    """Decode a client's bytes. Raises PostgresError for bytes that are not of the type."""
    try:
        return _loader(oid, form)(data)
    except PostgresError:
        raise
    except Exception as error:  # noqa: BLE001 each loader raises its own
        shown = data[:40].decode("utf-8", "backslashreplace")
        raise PostgresError("22P02", f"{shown!r} is no value of the type with oid {oid}: {error}") from None


@cache
def _loader(oid: int, form: int) -> Callable[[bytes], Any]:
    if oid == pg.JSONB and form == BINARY_FORMAT:
        return lambda data: data[1:].decode()
    if oid in _AS_TEXT or oid == pg.JSONB or (oid in (pg.TIME, pg.UUID) and form == TEXT_FORMAT):
        return bytes.decode
    if form == TEXT_FORMAT and oid in _READ:
        return _READ[oid]
    loader = adapters.get_loader(oid, Format(form))
    if loader is None:
        raise PostgresError("0A000", f"values of the type with oid {oid} are not supported", hint="send them as text")
    load = loader(oid, _TRANSFORMER).load
    return (lambda data: str(load(data))) if oid == pg.UUID else load


def _load_bool(data: bytes) -> bool:
    word = data.strip().lower()
    if word not in _TRUE + _FALSE:
        raise ValueError("a truth is t or f")
    return word in _TRUE


def _load_date(data: bytes) -> date:
    """As PostgreSQL reads it: a time and a zone after it, which pgjdbc sends, say nothing."""
    return date.fromisoformat(data.decode().split()[0].partition("T")[0])


def _load_time(data: bytes) -> datetime:
    return datetime.fromisoformat(data.decode().strip().replace(" +", "+").replace(" -", "-"))


def _load_instant(data: bytes) -> datetime:
    value = _load_time(data)
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


_READ: dict[int, Callable[[bytes], Any]] = {
    pg.BOOL: _load_bool,
    pg.DATE: _load_date,
    pg.TIMESTAMP: lambda data: _load_time(data).replace(tzinfo=None),
    pg.TIMESTAMPTZ: _load_instant,
}
"""What reads texts as PostgreSQL does; psycopg reads those alone that PostgreSQL writes."""


def rows_of(table: pa.Table, fields: Sequence[pg.Field], forms: Sequence[int]) -> Iterator[tuple[bytes | None, ...]]:
    """Yield the rows of a result as bytes, each column in its format; batch by batch."""
    for batch in table.to_batches(max_chunksize=4096):
        columns = [
            encoded(column, field.oid, form) for column, field, form in zip(batch.columns, fields, forms, strict=True)
        ]
        yield from zip(*columns, strict=True) if columns else ((),) * len(batch)


def encoded(column: pa.Array, oid: int, form: int) -> list[bytes | None]:
    """Return the values of a column as bytes."""
    dump = dumper(oid, form)
    try:
        return [None if value is None else dump(value) for value in column.to_pylist()]
    except (TypeError, ValueError, AttributeError, OverflowError, struct.error) as error:
        message = f"values of Arrow's type {column.type} cannot be sent as the type with oid {oid}: {error}"
        raise PostgresError("42804", message, hint="CAST the column") from None


@cache
def dumper(oid: int, form: int) -> Callable[[Any], bytes]:
    """Return the encoder of a type's values other than NULL."""
    if oid in (pg.JSON, pg.JSONB):
        head = b"\1" if (oid, form) == (pg.JSONB, BINARY_FORMAT) else b""
        return lambda value: head + json.dumps(value, default=str, ensure_ascii=False).encode()
    if oid in pg.ELEMENTS:
        element = pg.ELEMENTS[oid].oid
        make = _text_array if form == TEXT_FORMAT else partial(_binary_array, element)
        return partial(make, dumper(element, form))
    if (oid, form) in _OWN:
        return _OWN[oid, form]
    dump = adapters.get_dumper_by_oid(oid, Format(form))(object, _TRANSFORMER).dump
    return lambda value: bytes(dump(value) or b"")


def _text_array(dump: Callable[[Any], bytes], values: Sequence[Any]) -> bytes:
    return b"{" + b",".join(b"NULL" if value is None else _quoted(dump(value)) for value in values) + b"}"


def _binary_array(element: int, dump: Callable[[Any], bytes], values: Sequence[Any]) -> bytes:
    if not values:
        return struct.pack("!iiI", 0, 0, element)
    items = [_NULL if value is None else struct.pack("!i", len(data := dump(value))) + data for value in values]
    return struct.pack("!iiIii", 1, int(None in values), element, len(values), 1) + b"".join(items)


_NULL = struct.pack("!i", -1)


def _text_float(value: float) -> bytes:
    if math.isfinite(value):
        return repr(value).removesuffix(".0").encode()
    return b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity"


def _text_float4(value: float) -> bytes:
    return str(np.float32(value)).removesuffix(".0").encode() if math.isfinite(value) else _text_float(value)


def _text_interval(value: Any) -> bytes:
    """As PostgreSQL's style has it: 1 mon, or 1 day 02:03:04.5."""
    if not isinstance(value, timedelta):
        return f"{value.months} mons".encode()
    seconds, micro = divmod(abs(value) // timedelta(microseconds=1), 10**6)
    sign = "-" if value < timedelta() else ""
    days, hours = divmod(seconds // 3600, 24)
    time = f"{sign}{hours:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" + (f".{micro:06}" if micro else "")
    return (f"{sign}{days} day{'s' * (days != 1)} {time}" if days else time).encode()


def _binary_interval(value: Any) -> bytes:
    if not isinstance(value, timedelta):
        return struct.pack("!qii", 0, 0, value.months)
    micro = value // timedelta(microseconds=1)
    days = abs(micro) // _DAY * (1 if micro >= 0 else -1)
    return struct.pack("!qii", micro - days * _DAY, days, 0)


_DAY = 24 * 3600 * 10**6
_OWN: dict[tuple[int, int], Callable[[Any], bytes]] = {
    (pg.BYTEA, TEXT_FORMAT): lambda value: b"\\x" + value.hex().encode(),
    (pg.FLOAT4, TEXT_FORMAT): _text_float4,
    (pg.FLOAT8, TEXT_FORMAT): _text_float,
    (pg.NUMERIC, TEXT_FORMAT): lambda value: format(value, "f").encode(),
    (pg.TIMESTAMPTZ, TEXT_FORMAT): lambda value: str(value).removesuffix(":00").encode(),
    (pg.INTERVAL, TEXT_FORMAT): _text_interval,
    (pg.INTERVAL, BINARY_FORMAT): _binary_interval,
}


def _quoted(element: bytes) -> bytes:
    """Return an element of an array."""
    if element and element.lower() != b"null" and not set(element) & set(b'{},"\\ \t\n\r\v\f'):
        return element
    return b'"' + element.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
