"""to_json and from_json, by a type given as text."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache, reduce
from typing import Any

from deltic.functions.conversions import converter
from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.functions.json import JsonOptions, quoted, refuse, requoted, type_of_literal, written
from deltic.functions.patterns import read_time, written_time
from deltic.values.types import Kind, Type
from deltic.values.types.names import type_named

TEXT = Type.STRING
_WHOLE = re.compile("-?[0-9]+")
_SIMPLE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?", re.ASCII | re.DOTALL)


@lru_cache(maxsize=1024)
def _options(text: str) -> JsonOptions:
    return JsonOptions(**json.loads(text))


# Values as JSON


def _to_json(value: Any, type_: str, options: str = "{}") -> str | None:
    result, how = type_named(type_), _options(options)
    return _pretty(value, result, how) if how.is_pretty else _written(value, result, how)


def _pretty(value: Any, type_: Type, how: JsonOptions, indent: str = "") -> str:
    """Pretty-print a value as Jackson does: elements of an array share a line."""
    if value is None or type_.kind not in (Kind.STRUCT, Kind.ARRAY, Kind.MAP):
        return _written(value, type_, how)
    if type_.kind is Kind.ARRAY:
        return f"[ {', '.join(_pretty(part, type_.element.type, how, indent) for part in value)} ]" if value else "[ ]"
    inner = f"{indent}  "
    parts = (f"{inner}{quoted(n)} : {_pretty(v, t, how, inner)}" for n, v, t in _entries(value, type_, how))
    lines = ",\n".join(parts)
    return f"{{\n{lines}\n{indent}}}" if lines else "{ }"


def _entries(value: Any, type_: Type, how: JsonOptions) -> list[tuple[str, Any, Type]]:
    """Return the names, values and types of the fields of a struct, without those that are NULL, or of a map."""
    if type_.kind is Kind.MAP:
        result = [(_key(k, type_.key), v, type_.value.type) for k, v in value]
    else:
        fields = zip(type_.fields, value, strict=True)
        result = [(c.name, v, c.type) for c, v in fields if v is not None or how.keeps_null]
    return sorted(result, key=lambda entry: entry[0]) if how.sorts_keys else result


def _written(value: Any, type_: Type, how: JsonOptions) -> str:
    """Write a value as JSON; NULL fields are left out unless the options keep them."""
    if value is None:
        return "null"
    match type_.kind:
        case Kind.STRUCT | Kind.MAP:
            entries = _entries(value, type_, how)
            return "{" + ",".join(f"{quoted(name)}:{_written(v, t, how)}" for name, v, t in entries) + "}"
        case Kind.ARRAY:
            return "[" + ",".join(_written(part, type_.element.type, how) for part in value) + "]"
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.DECIMAL:
            return str(value)
        case Kind.BINARY:
            return quoted(base64.b64encode(value).decode())
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ if pattern := how.pattern(type_.kind):
            return quoted(written_time(_as_time(value), pattern))
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            zone = "Z" if type_.kind is Kind.TIMESTAMP else ""
            return quoted(f"{value.replace(tzinfo=None).isoformat(timespec='milliseconds')}{zone}")
        case Kind.TIME:
            return quoted(converter(type_, TEXT)(value))
        case Kind.FLOAT32 | Kind.FLOAT64:
            text = str(converter(type_, TEXT)(value))
            return text if value - value == 0 else quoted(text)
    return str(value) if type_.is_integer else quoted(str(value))


def _as_time(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time())


def _key(value: Any, type_: Type) -> str:
    """Return a key as Spark shows what it has inside: days and microseconds for times, brackets for what has parts."""
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


# JSON as values


class _Number(str):
    """A number as it is written."""


class _Bad(Exception):
    """A value does not fit its type and becomes NULL."""


_DECODER = json.JSONDecoder(
    strict=True,
    object_pairs_hook=lambda pairs: dict(pairs),
    parse_constant=refuse,
    parse_int=_Number,
    parse_float=_Number,
)


def _from_json(text: str, type_: str, options: str = "{}") -> Any:
    """Return the value of a JSON text; of no JSON a struct of NULLs, or NULL; NULL with FAILFAST, where that is an
    error.
    """
    target, how = type_named(type_), _options(options)
    if not text.strip():
        return None
    with suppress(ValueError, RecursionError, _Bad):
        return _Reading(text, how).at_root(target)
    if how.fails:
        return None
    return _with_text(None, target, text, how) if target.kind is Kind.STRUCT else None


def _with_text(values: Any, target: Type, text: str, how: JsonOptions) -> tuple[Any, ...]:
    """Return a struct, of NULLs if there are no values, with the text in the field for those that do not fit."""
    given = values or (None,) * len(target.fields)
    fields = zip(target.fields, given, strict=True)
    return tuple(text if column.name == how.corrupt else value for column, value in fields)


@dataclass
class _Reading:
    """Reads a text, and records whether a value did not fit its type."""

    text: str
    how: JsonOptions
    is_bad: bool = False

    def at_root(self, target: Type) -> Any:
        """Return the value of the text: one object stands for an array of it too."""
        value, _ = _DECODER.raw_decode(_plain(self.text.lstrip(), self.how))
        if value is None or (target.kind is Kind.STRUCT and isinstance(value, list)):
            raise _Bad
        if target.kind is Kind.ARRAY and target.element.type.kind is Kind.STRUCT and isinstance(value, dict):
            value = [value]
        result = self.read(value, target)
        if self.is_bad and self.how.fails:
            raise _Bad
        is_told = self.is_bad and target.kind is Kind.STRUCT
        return _with_text(result, target, self.text, self.how) if is_told else result

    def read(self, value: Any, target: Type) -> Any:
        """Return a value of a type; _Bad where it has none."""
        if value is None:
            return None
        match target.kind:
            case Kind.STRUCT:
                return self._struct(value, target)
            case Kind.ARRAY:
                if not isinstance(value, list):
                    raise _Bad
                return tuple(self.read(part, target.element.type) for part in value)
            case Kind.MAP:
                if not isinstance(value, dict):
                    raise _Bad
                return tuple((key, self.read(part, target.value.type)) for key, part in value.items())
            case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ if pattern := self.how.pattern(target.kind):
                return _by_pattern(value, target, pattern)
            case Kind.FLOAT32 | Kind.FLOAT64 if not (self.how.numbers_as_text or isinstance(value, _Number)):
                raise _Bad
        return _READERS[target.kind](value, target)

    def _struct(self, value: Any, target: Type) -> Any:
        if not isinstance(value, dict):
            raise _Bad
        return tuple(self._field(value.get(column.name), column.type) for column in target.fields)

    def _field(self, value: Any, target: Type) -> Any:
        """Return the value of a field, NULL where it has none."""
        try:
            return self.read(value, target)
        except _Bad:
            self.is_bad = True
            return None


_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<comment>/\*.*?\*/|//[^\n]*)"""
    r"""|(?P<name>[A-Za-z_$][\w$]*)(?=\s*:)|(?P<number>-?\d[\w.+-]*)""",
    re.DOTALL,
)


def _plain(text: str, how: JsonOptions) -> str:
    """Rewrite JSON with extensions that the options allow into standard JSON."""
    if how.bare_names or how.comments or how.leading_zeros:
        text = _TOKEN.sub(lambda result: _standard(result, how), text)
    return requoted(text) if how.single_quotes else text


def _standard(found: re.Match[str], how: JsonOptions) -> str:
    match found.lastgroup:
        case "comment" if how.comments:
            return " "
        case "name" if how.bare_names:
            return quoted(found[0])
        case "number" if how.leading_zeros:
            return re.sub(r"^(-?)0+(?=\d)", r"\1", found[0])
    return found[0]


def _text(value: Any) -> str:
    """Return a text; _Bad for another value."""
    if isinstance(value, _Number) or not isinstance(value, str):
        raise _Bad
    return value


def _by_pattern(value: Any, target: Type, pattern: str) -> Any:
    if (result := read_time(_text(value), pattern)) is None:
        raise _Bad
    return result if target is Type.TIMESTAMP else converter(Type.TIMESTAMP, target)(result)


def _scalar(value: Any) -> str:
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
    result = converter(TEXT, target)(str(value))
    if result is None:
        raise _Bad
    return result


def _boolean(value: Any, target: Type) -> Any:
    if not isinstance(value, bool):
        raise _Bad
    return value


def _read_time(value: Any, target: Type) -> Any:
    if isinstance(value, _Number) and _WHOLE.fullmatch(value) and target.kind is Kind.TIMESTAMP:
        return converter(Type.INT64, target)(int(value))
    if not _SIMPLE_TIME.fullmatch(_text(value)):
        raise _Bad
    return _of_text(value, target)


def _binary(value: Any, target: Type) -> Any:
    try:
        return base64.b64decode(_text(value), validate=True)
    except ValueError:
        raise _Bad from None


_READERS: dict[Kind, Callable[[Any, Type], Any]] = {
    Kind.STRING: lambda value, target: str(value) if type(value) is str else written(value, _scalar),
    Kind.BOOLEAN: _boolean,
    Kind.BINARY: _binary,
    Kind.TIME: lambda value, target: _of_text(_text(value), target),
    Kind.DECIMAL: _decimal,
    **dict.fromkeys((Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64), _integer),
    **dict.fromkeys((Kind.FLOAT32, Kind.FLOAT64), _float),
    **dict.fromkeys((Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ), _read_time),
}

# The schema of JSON


def schema_of(text: str, how: JsonOptions) -> str | None:
    """Infer the SQL type of a JSON text; None where it is no JSON."""
    try:
        value, _ = _DECODER.raw_decode(_plain(text.lstrip(), how))
    except (ValueError, RecursionError):
        return None
    return _schema(_type_of(value, how))


_Schema = str | dict[str, Any] | list[Any] | None
"""A simple type by its name, the types of fields, the type of elements alone, or None for that of NULL."""


def _type_of(value: Any, how: JsonOptions) -> _Schema:
    if isinstance(value, dict):
        return {name: _type_of(value[name], how) for name in sorted(value)}
    if isinstance(value, list):
        return [reduce(_merged, (_type_of(part, how) for part in value), None)]
    if value is None:
        return None
    if how.all_as_text:
        return "STRING"
    if isinstance(value, _Number):
        return _number_type(value, how)
    return "BOOLEAN" if isinstance(value, bool) else "STRING"


def _number_type(text: str, how: JsonOptions) -> str:
    if not _WHOLE.fullmatch(text):
        number = Decimal(text).as_tuple()
        scale = max(0, -int(number.exponent))
        precision = max(len(number.digits) + max(0, int(number.exponent)), scale)
        return f"DECIMAL({precision},{scale})" if how.prefers_decimal and precision <= 38 else "DOUBLE"
    return "BIGINT" if -(2**63) <= int(text) < 2**63 else f"DECIMAL({len(text.lstrip('-'))},0)"


def _merged(one: _Schema, other: _Schema) -> _Schema:
    """Return the common type of two inferred types, else STRING."""
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
    "Spark infers the types of fields by rules of its own",
    {
        "to_json": Function(TEXT, python=_to_json),
        "from_json": Function(type_of_literal, python=_from_json, tolerant=True),
    },
)
