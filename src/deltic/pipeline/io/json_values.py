"""Values in JSON: times as ISO 8601 text, decimals as numbers or text, bytes in base 64.

A field's description in a Kafka Connect schema is respected: days, milliseconds and microseconds since 1970, decimals
as bytes. Values in other forms stay the same, and are checked later.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from deltic.pipeline.io.values import whole
from deltic.values.types import Kind, Type

Field = Mapping[str, Any]
_EPOCH = datetime.datetime(1970, 1, 1)
_NO_FIELD: Field = {}


def of_json(value: Any, type_: Type, field: Field = _NO_FIELD) -> Any:
    """Convert a JSON value, parsed with floats as decimals, to a type. ValueError if it is not a value of the type."""
    if value is None:
        return None
    if type_.kind is Kind.ARRAY and isinstance(value, list):
        return [of_json(item, type_.element.type) for item in value]
    if type_.kind is Kind.STRUCT and isinstance(value, Mapping):
        types = {column.name: column.type for column in type_.fields}
        return {name: of_json(item, types[name]) if name in types else item for name, item in value.items()}
    if type_.kind is Kind.MAP:
        return _map(value, type_)
    try:
        return _READ[type_.kind](value, field) if type_.kind in _READ else value
    except (InvalidOperation, OverflowError) as error:
        raise ValueError(str(error)) from error


def _map(value: Any, type_: Type) -> Any:
    """Convert a map: a list of pairs, or an object if its keys are text."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list) or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        return value
    return [(of_json(key, type_.key), of_json(item, type_.value.type)) for key, item in pairs]


def _decimal(value: Any, field: Field) -> Any:
    if isinstance(value, Mapping) and value.keys() == {"scale", "value"}:
        return _of_bytes(value["value"], int(value["scale"]))
    if isinstance(value, str):
        scale = field.get("parameters", {}).get("scale")
        return Decimal(value) if scale is None else _of_bytes(value, int(scale))
    return Decimal(str(value)) if isinstance(value, float) else value


def _of_bytes(text: str, scale: int) -> Decimal:
    """Return a decimal of a scale from the bytes, in base 64, of its digits as one integer."""
    return Decimal(int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)).scaleb(-scale)


def _date(value: Any, field: Field) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return (_EPOCH + datetime.timedelta(days=value)).date()
    return datetime.date.fromisoformat(value) if isinstance(value, str) else value


_UNITS = {"Timestamp": 1_000, "MicroTimestamp": 1}


def _clock(value: Any, field: Field) -> Any:
    """Convert a time without a zone."""
    if isinstance(value, str):
        return datetime.datetime.fromisoformat(value)
    unit = str(field.get("name", "")).rpartition(".")[2]
    if isinstance(value, int) and unit in _UNITS:
        return _EPOCH + datetime.timedelta(microseconds=value * _UNITS[unit])
    if isinstance(value, int) and unit == "NanoTimestamp" and value % 1_000 == 0:
        return _EPOCH + datetime.timedelta(microseconds=value // 1_000)
    return value


def _instant(value: Any, field: Field) -> Any:
    result = _clock(value, field)
    return result.replace(tzinfo=datetime.UTC) if isinstance(value, int) and result is not value else result


def _span(value: Any, field: Field) -> Any:
    """Convert a number of microseconds."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return datetime.timedelta(microseconds=value) if is_number else value


_INTEGERS = [kind for kind in Kind if kind.value.lstrip("u").startswith("int")]
_READ: dict[Kind, Callable[[Any, Field], Any]] = {
    **dict.fromkeys(_INTEGERS, lambda value, _: whole(value)),
    Kind.BOOLEAN: lambda value, _: bool(value) if value in (0, 1) else value,
    **dict.fromkeys(
        (Kind.FLOAT32, Kind.FLOAT64), lambda value, _: float(value) if isinstance(value, Decimal | str) else value
    ),
    Kind.DECIMAL: _decimal,
    Kind.BINARY: lambda value, _: base64.b64decode(value, validate=True) if isinstance(value, str) else value,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _instant,
    Kind.TIMESTAMP_NTZ: _clock,
    Kind.TIME: lambda value, _: datetime.time.fromisoformat(value) if isinstance(value, str) else value,
    Kind.DAY_TIME_INTERVAL: _span,
}
