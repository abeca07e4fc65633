"""Conversion between ordinary Python values and the form of rows in the reference interpreter.

In rows every value is hashable: an array is a tuple of its elements, a struct one of its fields' values in order, a map
one of (key, value); an instant is a datetime in UTC, a year-month interval a number of months, and
there is one NaN. Ordinary values are those that Arrow returns: lists, dicts by field name, lists of pairs or dicts for
maps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from numbers import Integral
from typing import Any

from deltic.lazy import pa
from deltic.values.numbers import round_float
from deltic.values.order import in_order
from deltic.values.types import Kind, Type

LONGEST = timedelta(days=106_751_990)
"""The longest day-time interval: one whole day less than 64 bits of microseconds hold."""


def of_python(value: Any, type_: Type) -> Any:
    """Return the row form of an ordinary Python value of the type; None stays None."""
    convert = None if value is None else _OF.get(type_.kind)
    return convert(value, type_) if convert else value


def to_python(value: Any, type_: Type) -> Any:
    """Return the inverse of `of_python`: the value as Arrow would return it."""
    convert = None if value is None else _TO.get(type_.kind)
    return convert(value, type_) if convert else value


def as_decimal(value: Any) -> Decimal:
    """Return a number as a decimal; a float is the number that its shortest decimal text says, as in SQL."""
    if isinstance(value, Decimal):
        return value
    return Decimal(int(value) if isinstance(value, Integral) else repr(float(value)))


def _map(value: Any, type_: Type) -> tuple[Any, ...]:
    """Return the pairs in their order; those of a dict, whose equality ignores order, sorted by key."""
    items = value.items() if isinstance(value, Mapping) else value
    pairs = [(of_python(k, type_.key), of_python(v, type_.value.type)) for k, v in items]
    return tuple(sorted(pairs, key=lambda pair: in_order(pair[0])) if isinstance(value, Mapping) else pairs)


def _struct(value: Any, type_: Type) -> tuple[Any, ...]:
    items = (value[c.name] for c in type_.fields) if isinstance(value, Mapping) else value
    return tuple(of_python(item, c.type) for item, c in zip(items, type_.fields, strict=True))


Convert = Callable[[Any, Type], Any]
_INTEGERS = [type_.kind for type_ in Type.simple() if type_.is_integer]
_OF: dict[Kind, Convert] = {
    **dict.fromkeys(_INTEGERS, lambda value, type_: int(value)),
    Kind.DATE: lambda value, type_: value.date() if isinstance(value, datetime) else value,
    Kind.FLOAT32: lambda value, type_: round_float(float(value), type_),
    Kind.FLOAT64: lambda value, type_: round_float(float(value), type_),
    Kind.TIMESTAMP: lambda value, type_: value.astimezone(UTC),
    Kind.YEAR_MONTH_INTERVAL: lambda value, type_: value.months if hasattr(value, "months") else int(value),
    Kind.DECIMAL: lambda value, type_: as_decimal(value),
    Kind.ARRAY: lambda value, type_: tuple(of_python(item, type_.element.type) for item in value),
    Kind.STRUCT: _struct,
    Kind.MAP: _map,
}
_TO: dict[Kind, Convert] = {
    Kind.YEAR_MONTH_INTERVAL: lambda value, type_: pa.MonthDayNano([value, 0, 0]),
    Kind.ARRAY: lambda value, type_: [to_python(item, type_.element.type) for item in value],
    Kind.STRUCT: lambda value, type_: {
        c.name: to_python(item, c.type) for item, c in zip(value, type_.fields, strict=True)
    },
    Kind.MAP: lambda value, type_: [(to_python(k, type_.key), to_python(v, type_.value.type)) for k, v in value],
}
