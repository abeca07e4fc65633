"""Checks typed values from Python and Arrow: which ones a column accepts, and the errors for others."""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from deltic.errors import UnsupportedError
from deltic.pipeline.io.in_python import UnrepresentableValue
from deltic.values import LONGEST, in_order, of_python
from deltic.values.numbers import round_float, to_decimal
from deltic.values.python import as_decimal
from deltic.values.types import Column, Kind, Type, ValueType
from deltic.values.types.arrow import type_of_arrow

_SURROGATE = re.compile("[\ud800-\udfff]")


def accepts(type_: Type, arrow: pa.DataType) -> bool:
    """Return whether a column of `type_` accepts values from an Arrow column of type `arrow`, as far as they fit."""
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return accepts(type_, arrow.value_type)
    if pa.types.is_null(arrow):
        return True
    whole = pa.types.is_integer(arrow) or (pa.types.is_decimal(arrow) and arrow.scale == 0)
    is_number = pa.types.is_integer(arrow) or pa.types.is_decimal(arrow) or pa.types.is_floating(arrow)
    if type_.is_integer:
        return bool(is_number or arrow == type_.arrow)
    if type_ is Type.YEAR_MONTH_INTERVAL:
        return bool(pa.types.is_integer(arrow) or arrow == type_.arrow)
    if type_.is_float:
        return bool(whole or pa.types.is_floating(arrow))
    if type_.kind is Kind.DECIMAL:
        return bool(is_number)
    if type_ is Type.DATE and pa.types.is_timestamp(arrow):
        return arrow.tz is None
    return _accepts_parts(type_, arrow) if type_.is_composite else _is_type(arrow, type_)


def _accepts_parts(type_: Type, arrow: pa.DataType) -> bool:
    """Return whether the elements, fields, or keys and values of an Arrow type are accepted."""
    if type_.kind is Kind.MAP:
        return (
            pa.types.is_map(arrow) and accepts(type_.key, arrow.key_type) and accepts(type_.value.type, arrow.item_type)
        )
    if type_.kind is Kind.STRUCT:
        result = {field.name: field.type for field in arrow.fields} if pa.types.is_struct(arrow) else None
        wanted = {column.name: column.type for column in type_.fields}
        return (
            result is not None and wanted.keys() == result.keys() and all(accepts(wanted[n], result[n]) for n in result)
        )
    return hasattr(arrow, "value_field") and accepts(type_.element.type, arrow.value_type)


def _is_type(arrow: pa.DataType, type_: Type) -> bool:
    try:
        return type_of_arrow(arrow) is type_
    except UnsupportedError:
        return False


def problem(value: Any, column: Column) -> str | None:
    """Return why `value`, a Python value, does not fit the column; None if it does.

    Integers are accepted as equal floats, and numbers as integers and decimals of the same value. A float has the value
    of its shortest decimal text. A time without a zone at midnight is accepted as its date.
    """
    return _problem(value, column.value_type)


def _problem(value: Any, type_: ValueType) -> str | None:
    or_null = " or null" if type_.nullable else ""
    if value is None:
        return None if type_.nullable else f"expected {phrase(type_.type)}, found null"
    if isinstance(value, UnrepresentableValue):
        return value.reason
    kind = type_.type.kind
    classes, check = _FITS[kind]
    if not isinstance(value, classes) or _is_other(value, kind):
        return f"expected {phrase(type_.type)}{or_null}, found {_typed(value)}{_remedy(value, kind)}"
    return check(value, type_.type) if check else None


def _remedy(value: Any, kind: Kind) -> str:
    """Return what to use instead of values that are often given by mistake."""
    if isinstance(value, str) and kind in _TIMES:
        return f"; give a datetime.{_TIMES[kind]}, or a text as {_TEXTS[kind]} with coerce=True"
    return ""


_TIMES = {Kind.DATE: "date", Kind.TIMESTAMP: "datetime", Kind.TIMESTAMP_NTZ: "datetime", Kind.TIME: "time"}
_TEXTS = {
    Kind.DATE: "2026-03-01",
    Kind.TIMESTAMP: "2026-03-01T12:30:00Z",
    Kind.TIMESTAMP_NTZ: "2026-03-01 12:30:00",
    Kind.TIME: "12:30:00",
}


def _is_other(value: Any, kind: Kind) -> bool:
    """Return whether a value has an allowed class but the wrong kind: truth values and numpy's spans are integers."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, bool | np.timedelta64) and kind is not Kind.BOOLEAN


_BY_US = "have it rounded: coerce=True in Python, coerce 'true' in SQL's OPTIONS"
_ROUND = f"round it first, or {_BY_US}"


def _integer(value: Any, type_: Type) -> str | None:
    least, greatest = type_.range
    if isinstance(value, float | np.floating | decimal.Decimal):
        if not as_decimal(value).is_finite():
            return f"expected {phrase(type_)}, found {_typed(value)}"
        if least - 1 < value < greatest + 1 and value != int(value):
            return f"{shown(value)} is not whole; {_ROUND}"
    if least <= value <= greatest:
        return None
    return f"{shown(value)} is out of range for {phrase(type_)} ({least} to {greatest})"


def _float(value: Any, type_: Type) -> str | None:
    if isinstance(value, float | np.floating):
        infinite = math.isfinite(value) and math.isinf(round_float(float(value), type_))
        return f"{shown(value)} is out of range for {phrase(type_)}" if infinite else None
    try:
        near = round_float(float(value), type_)
    except OverflowError:
        near = math.inf
    if near == value:
        return None
    hint = f"; the nearest is {near!r}" if math.isfinite(near) else ""
    return f"no float is equal to {shown(value)}{hint}"


def _decimal(value: Any, type_: Type) -> str | None:
    exact = as_decimal(value)
    if not exact.is_finite():
        return f"expected {phrase(type_)}, found {_typed(value)}"
    near = to_decimal(exact, type_)
    if near == exact:
        return None
    return f"{shown(value)} has more digits than {phrase(type_)}" + (f"; {_ROUND}" if near is not None else "")


def _text(value: str, type_: Type) -> str | None:
    return f"{value!r} holds half of a surrogate pair, which is not text" if _SURROGATE.search(value) else None


def _date(value: datetime.date, type_: Type) -> str | None:
    if not isinstance(value, datetime.datetime):
        return None
    if value.tzinfo is not None:
        return f"expected {phrase(type_)}, found {_typed(value)}"
    if value.time() == datetime.time.min and not getattr(value, "nanosecond", 0):
        return None
    return f"{value} is not midnight, so that no date is equal to it; take its date(), or {_BY_US}"


def _time(value: datetime.datetime, type_: Type) -> str | None:
    if value.tzinfo is None and type_ is Type.TIMESTAMP:
        remedy = "attach its zone, as value.replace(tzinfo=datetime.UTC) does, or make the column TIMESTAMP_NTZ"
        return f"expected {phrase(type_)}, found {_typed(value)}; {remedy}"
    if value.tzinfo is not None and type_ is Type.TIMESTAMP_NTZ:
        return f"expected {phrase(type_)}, found {_typed(value)}"
    if getattr(value, "nanosecond", 0):
        return f"{value} has nanoseconds; timestamps have microseconds"
    try:
        value.replace(tzinfo=datetime.UTC) - (value.utcoffset() or datetime.timedelta())
    except OverflowError:
        return f"{value} is in UTC before the year 1 or after the year 9999"
    return None


def _months(value: Any, type_: Type) -> str | None:
    months, *rest = (int(value),) if isinstance(value, numbers.Integral) else value
    return None if not any(rest) and -(2**31) <= months < 2**31 else f"{shown(value)} is no number of months in 32 bits"


def _span(value: datetime.timedelta, type_: Type) -> str | None:
    if getattr(value, "nanoseconds", 0):
        return f"{value} has nanoseconds; intervals have microseconds"
    return None if abs(value) <= LONGEST else f"{value!r} is longer than the longest interval, {LONGEST.days} days"


def _array(value: Any, type_: Type) -> str | None:
    return _first((f"element {number}", _problem(item, type_.element)) for number, item in enumerate(value, 1))


def _struct(value: Any, type_: Type) -> str | None:
    names = [column.name for column in type_.fields]
    if isinstance(value, Mapping) and value.keys() != set(names):
        return f"expected the fields {', '.join(names)}, found {', '.join(map(str, value))}"
    if len(value) != len(names):
        return f"expected {len(names)} fields, found {len(value)}: {_typed(value)}"
    items = [value[name] for name in names] if isinstance(value, Mapping) else value
    pairs = zip(type_.fields, items, strict=True)
    return _first((f"field {column.name}", _problem(item, column.value_type)) for column, item in pairs)


def _map(value: Any, type_: Type) -> str | None:
    pairs = list(value.items() if isinstance(value, Mapping) else value)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        return f"expected pairs of a key and its value, found {_typed(value)}"
    keys = (("key", _problem(key, ValueType(type_.key))) for key, _ in pairs)
    result = _first([*keys, *((f"value of {shown(key)}", _problem(item, type_.value)) for key, item in pairs)])
    if result or len({in_order(of_python(key, type_.key)) for key, _ in pairs}) == len(pairs):
        return result
    return f"two values of one key in {_typed(value)}"


def _first(found: Iterable[tuple[str, str | None]]) -> str | None:
    """Return the first reason among those of a value's parts, with the name of the part."""
    return next((f"{part}: {reason}" for part, reason in found if reason is not None), None)


_INTEGERS = [type_.kind for type_ in Type.simple() if type_.is_integer]
_SEQUENCES = (list, tuple, np.ndarray)
_NUMBERS = (numbers.Integral, float, np.floating, decimal.Decimal)
# The Python classes of values of each kind, and what else must hold of them.
_FITS: dict[Kind, tuple[Any, Callable[[Any, Type], str | None] | None]] = {
    **dict.fromkeys(_INTEGERS, (_NUMBERS, _integer)),
    Kind.BOOLEAN: (bool | np.bool_, None),
    Kind.FLOAT32: (numbers.Real, _float),
    Kind.FLOAT64: (numbers.Real, _float),
    Kind.STRING: (str, _text),
    Kind.BINARY: (bytes | bytearray | memoryview, None),
    Kind.DATE: (datetime.date, _date),
    Kind.TIMESTAMP: (datetime.datetime, _time),
    Kind.TIMESTAMP_NTZ: (datetime.datetime, _time),
    Kind.TIME: (datetime.time, None),
    Kind.YEAR_MONTH_INTERVAL: ((numbers.Integral, pa.MonthDayNano), _months),
    Kind.DAY_TIME_INTERVAL: (datetime.timedelta, _span),
    Kind.DECIMAL: (_NUMBERS, _decimal),
    Kind.ARRAY: (_SEQUENCES, _array),
    Kind.STRUCT: ((Mapping, *_SEQUENCES), _struct),
    Kind.MAP: ((Mapping, *_SEQUENCES), _map),
}


def whole(value: Any) -> Any:
    """Return a decimal without a fraction, as Spark writes unsigned integers, as an integer; other values unchanged."""
    return int(value) if isinstance(value, decimal.Decimal) and value == value.to_integral_value() else value


def shown(value: Any, longest: int = 80) -> str:
    """Return a value for messages, shortened if necessary."""
    try:
        text = str(value) if isinstance(value, numbers.Number) else repr(value)
    except (ValueError, TypeError, AttributeError, RecursionError):  # Python refuses integers of thousands of digits
        text = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else "something"
    return text if len(text) <= longest else text[:longest] + "…"


def _typed(value: Any) -> str:
    return f"{shown(value, 40)} ({type(value).__name__})"


def phrase(type_: Type) -> str:
    """Return the name of a type's values in messages."""
    return _PHRASES.get(type_, f"a value of type {type_}")


_PHRASES = {
    Type.INT64: "a number",
    Type.UINT64: "an unsigned number",
    Type.FLOAT64: "a float",
    Type.STRING: "a string",
    Type.BOOLEAN: "true or false",
    Type.DATE: "a date",
    Type.BINARY: "bytes",
    Type.TIMESTAMP: "a timestamp with a time zone",
    Type.TIMESTAMP_NTZ: "a timestamp without a time zone",
    Type.TIME: "a time of a day",
}
