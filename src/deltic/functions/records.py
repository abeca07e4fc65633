"""Values as JSON and JSON as values, by a type that is given as text: to_json and from_json."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache, reduce
from typing import Any

from sqlglot import exp

from deltic.functions.conversions import converter
from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.functions.json import quoted, requoted
from deltic.values.order import in_order
from deltic.values.types import Kind, Type

TEXT = Type.STRING
_WHOLE = re.compile("-?[0-9]+")
_SIMPLE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?", re.ASCII | re.DOTALL)


@lru_cache(maxsize=1024)
def _type(text: str) -> Type:
    """The type that a text names, see `named`."""
    from deltic.values.types.names import type_named

    return type_named(text)


def _of_literal(node: exp.Expression, types: Sequence[Type]) -> Type:
    return _type(node.expressions[1].this)


# Values as JSON


def _to_json(value: Any, type_: str) -> str | None:
    return _written(value, _type(type_))


def _written(value: Any, type_: Type) -> str:
    """A value as JSON; fields that are NULL are left out."""
    if value is None:
        return "null"
    match type_.kind:
        case Kind.STRUCT:
            parts = zip(type_.fields, value, strict=True)
            return "{" + ",".join(f"{quoted(c.name)}:{_written(v, c.type)}" for c, v in parts if v is not None) + "}"
        case Kind.ARRAY:
            return "[" + ",".join(_written(part, type_.element.type) for part in value) + "]"
        case Kind.MAP:
            entries = (f"{quoted(_key(k, type_.key))}:{_written(v, type_.value.type)}" for k, v in value)
            return "{" + ",".join(entries) + "}"
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.DECIMAL:
            return str(value)
        case Kind.BINARY:
            return quoted(base64.b64encode(value).decode())
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            zone = "Z" if type_.kind is Kind.TIMESTAMP else ""
            return quoted(f"{value.replace(tzinfo=None).isoformat(timespec='milliseconds')}{zone}")
        case Kind.FLOAT32 | Kind.FLOAT64:
            text = str(converter(type_, TEXT)(value))
            return text if value - value == 0 else quoted(text)
    return str(value) if type_.is_integer else quoted(str(value))


def _key(value: Any, type_: Type) -> str:
    """A key as Spark shows what it has inside: days and microseconds for times, brackets for what has parts."""
    if value is None:
        return "null"
    match type_.kind:
        case Kind.STRUCT:
            return f"[{','.join(_key(v, c.type) for v, c in zip(value, type_.fields, strict=True))}]"
        case Kind.ARRAY:
            return f"[{','.join(_key(v, type_.element.type) for v in value)}]"
        case Kind.DATE:
            return str((value - _FIRST_DAY).days)
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            since = value.replace(tzinfo=None) - datetime.combine(_FIRST_DAY, time())
            return str(since // timedelta(microseconds=1))
    return value if type_ is TEXT else str(converter(type_, TEXT)(value))


_FIRST_DAY = date(1970, 1, 1)


# Maps in the order of keys


def _ordered(value: Any, type_: str) -> Any:
    return _with_ordered_maps(value, _type(type_))


def _with_ordered_maps(value: Any, type_: Type) -> Any:
    if value is None or type_.is_ordered:
        return value
    match type_.kind:
        case Kind.STRUCT:
            return tuple(_with_ordered_maps(v, c.type) for v, c in zip(value, type_.fields, strict=True))
        case Kind.ARRAY:
            return tuple(_with_ordered_maps(v, type_.element.type) for v in value)
    pairs = ((key, _with_ordered_maps(v, type_.value.type)) for key, v in value)
    return tuple(sorted(pairs, key=lambda pair: in_order(pair[0])))


# JSON as values


class _Number(str):
    """A number as it is written."""


class _Bad(Exception):
    """A value that does not fit its type, which is NULL then."""


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(
    strict=True,
    object_pairs_hook=lambda pairs: dict(pairs),
    parse_constant=_refuse,
    parse_int=_Number,
    parse_float=_Number,
)


def _from_json(text: str, type_: str) -> Any:
    """The value of a JSON text; of no JSON a struct of NULLs, or NULL."""
    target = _type(type_)
    if not text.strip():
        return None
    nothing = (None,) * len(target.fields) if target.kind is Kind.STRUCT else None
    try:
        value, _ = _DECODER.raw_decode(requoted(text.lstrip()))
    except (ValueError, RecursionError):
        return nothing
    if value is None:
        return nothing
    try:
        return _at_root(value, target)
    except _Bad:
        return nothing


def _at_root(value: Any, target: Type) -> Any:
    """A value of the text itself: one object stands for an array of it, and an array of one object for that."""
    if target.kind is Kind.ARRAY and target.element.type.kind is Kind.STRUCT and isinstance(value, dict):
        return (_read(value, target.element.type),)
    if target.kind is Kind.STRUCT and isinstance(value, list):
        raise _Bad
    return _read(value, target)


def _read(value: Any, target: Type) -> Any:
    """A value of a type; _Bad where it has none."""
    if value is None:
        return None
    return _READERS[target.kind](value, target)


def _tolerant(value: Any, target: Type) -> Any:
    """The value of a field, NULL where it has none."""
    try:
        return _read(value, target)
    except _Bad:
        return None


def _struct(value: Any, target: Type) -> Any:
    if not isinstance(value, dict):
        raise _Bad
    return tuple(_tolerant(value.get(column.name), column.type) for column in target.fields)


def _array(value: Any, target: Type) -> Any:
    if not isinstance(value, list):
        raise _Bad
    return tuple(_read(part, target.element.type) for part in value)


def _map(value: Any, target: Type) -> Any:
    if not isinstance(value, dict):
        raise _Bad
    return tuple((key, _read(part, target.value.type)) for key, part in value.items())


def _text(value: Any, target: Type) -> Any:
    return str(value) if type(value) is str else _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(k)}:{_shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_shown, value)) + "]"
    if isinstance(value, _Number):
        return str(value) if _WHOLE.fullmatch(value) else str(converter(Type.FLOAT64, TEXT)(float(value)))
    return quoted(value) if isinstance(value, str) else json.dumps(value)


def _integer(value: Any, target: Type) -> Any:
    if not isinstance(value, _Number) or not _WHOLE.fullmatch(value):
        raise _Bad
    low, high = target.range
    if not low <= int(value) <= high:
        raise _Bad
    return int(value)


def _float(value: Any, target: Type) -> Any:
    if isinstance(value, _Number):
        return _of_text(value, target)
    special = {"NaN": "NaN", "Infinity": "Infinity", "+INF": "Infinity", "INF": "Infinity", "-INF": "-Infinity"}
    if isinstance(value, str) and value in {**special, "-Infinity": "", "+Infinity": ""}:
        return float(special.get(value, value))
    raise _Bad


def _decimal(value: Any, target: Type) -> Any:
    if not isinstance(value, str):
        raise _Bad
    return _of_text(value, target)


def _of_text(value: str, target: Type) -> Any:
    found = converter(TEXT, target)(str(value))
    if found is None:
        raise _Bad
    return found


def _boolean(value: Any, target: Type) -> Any:
    if not isinstance(value, bool):
        raise _Bad
    return value


def _read_time(value: Any, target: Type) -> Any:
    if isinstance(value, _Number) and _WHOLE.fullmatch(value) and target.kind is Kind.TIMESTAMP:
        return converter(Type.INT64, target)(int(value))
    if isinstance(value, _Number) or not isinstance(value, str) or not _SIMPLE_TIME.fullmatch(value):
        raise _Bad
    return _of_text(value, target)


def _binary(value: Any, target: Type) -> Any:
    if not isinstance(value, str) or isinstance(value, _Number):
        raise _Bad
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise _Bad from None


_READERS: dict[Kind, Callable[[Any, Type], Any]] = {
    Kind.STRUCT: _struct,
    Kind.ARRAY: _array,
    Kind.MAP: _map,
    Kind.STRING: _text,
    Kind.BOOLEAN: _boolean,
    Kind.BINARY: _binary,
    Kind.DECIMAL: _decimal,
    **dict.fromkeys((Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64), _integer),
    **dict.fromkeys((Kind.FLOAT32, Kind.FLOAT64), _float),
    **dict.fromkeys((Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ), _read_time),
}

# The schema of JSON


def schema_of(text: str) -> str | None:
    """The type of a JSON text as SQL writes it; None for what is no JSON."""
    try:
        value, _ = _DECODER.raw_decode(requoted(text.lstrip()))
    except (ValueError, RecursionError):
        return None
    return _schema(_type_of(value))


_Schema = str | dict[str, Any] | list[Any] | None
"""A simple type by its name, the types of fields, the type of elements alone, or None for that of NULL."""


def _type_of(value: Any) -> _Schema:
    if isinstance(value, dict):
        return {name: _type_of(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [reduce(_merged, map(_type_of, value), None)]
    if isinstance(value, _Number):
        return _number_type(value)
    return None if value is None else "BOOLEAN" if isinstance(value, bool) else "STRING"


def _number_type(text: str) -> str:
    if not _WHOLE.fullmatch(text):
        return "DOUBLE"
    return "BIGINT" if -(2**63) <= int(text) < 2**63 else f"DECIMAL({len(text.lstrip('-'))},0)"


def _merged(one: _Schema, other: _Schema) -> _Schema:
    """The type of values of two types; STRING where they have nothing in common."""
    if one is None or other is None or one == other:
        return other if one is None else one
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: _merged(one.get(name), other.get(name)) for name in sorted({*one, *other})}
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(one[0], other[0])]
    return "DOUBLE" if {one, other} == {"BIGINT", "DOUBLE"} else "STRING"


def _schema(type_: _Schema) -> str:
    if isinstance(type_, dict):
        return f"STRUCT<{', '.join(f'{name}: {_schema(part)}' for name, part in type_.items())}>"
    return f"ARRAY<{_schema(type_[0])}>" if isinstance(type_, list) else type_ or "STRING"


FUNCTIONS |= by_rows(
    "what Spark takes for a field's type is Spark's own",
    {
        "ordered_maps": Function(lambda node, types: types[0], python=_ordered),
        "to_json": Function(TEXT, python=_to_json),
        "from_json": Function(_of_literal, python=_from_json, tolerant=True),
    },
)
