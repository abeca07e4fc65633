"""Converts Arrow values to Python, whose dates and timestamps only have the years 1 to 9999."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The first and last day of the years 1 to 9999, counted from 1970-01-01."""
_SECONDS = {"s": 1, "ms": 1_000, "us": 1_000_000}


@dataclass(frozen=True)
class UnrepresentableValue:
    """Stands for a value that Python cannot represent."""

    reason: str


def in_reach(values: Any) -> Any:
    """Return the values, with null for dates and timestamps outside the years 1 to 9999."""
    ticks = _ticks_a_day(values.type)
    if not ticks:
        return values
    numbers = values.cast(pa.int32() if values.type == pa.date32() else pa.int64())
    first, last = _FIRST_DAY * ticks, (_LAST_DAY + 1) * ticks - 1
    ends = pc.min_max(numbers).as_py()
    if ends["min"] is None or first <= ends["min"] <= ends["max"] <= last:
        return values
    fits = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    return pc.if_else(fits, values, pa.scalar(None, values.type))


def have_parts_out_of_reach(values: Any) -> bool:
    """Return whether an element, field, key or value is a date or timestamp outside these years."""
    if not pa.types.is_nested(values.type):
        return bool(in_reach(values).null_count > values.null_count)
    return any(map(have_parts_out_of_reach, _parts(values)))


def listed(values: Any) -> list[Any]:
    """Return the values in Python, with `UnrepresentableValue` for those that it cannot represent."""
    try:
        result: list[Any] = values.to_pylist()
    except (ValueError, OverflowError, KeyError):  # of years, of spans, of time zones
        result = [_value(value) for value in _in_utc(values)]
    return result


def rows_at(table: pa.Table, places: Sequence[int]) -> list[dict[str, Any]]:
    """Return some rows, of columns of any encoding: Arrow cannot take from runs and views."""
    return [row for place in places for row in rows_of(table.slice(place, 1))]


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows by column name, with values as of `listed`."""
    columns = [listed(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _ticks_a_day(type_: pa.DataType) -> int:
    """Return the units of a date or timestamp type in a day; 0 for other types, and for those with a smaller range."""
    if pa.types.is_timestamp(type_):
        return 86_400 * _SECONDS.get(type_.unit, 0)
    return {pa.date32(): 1, pa.date64(): 86_400_000}.get(type_, 0)


def _parts(values: Any) -> list[Any]:
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    if pa.types.is_struct(values.type):
        return [part for chunk in chunks for part in chunk.flatten()]
    if pa.types.is_map(values.type):
        return [part for chunk in chunks for part in (chunk.keys, chunk.items)]
    return [chunk.flatten() for chunk in chunks] if hasattr(values.type, "value_type") else []


def _in_utc(values: Any) -> Any:
    is_zoned = pa.types.is_timestamp(values.type) and values.type.tz is not None
    return values.cast(pa.timestamp(values.type.unit, "UTC")) if is_zoned else values


def _value(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError, KeyError):
        if pa.types.is_duration(value.type):
            return UnrepresentableValue("the interval is longer than Python's longest one")
        what = f"{value.cast(pa.string())} is" if pa.types.is_temporal(value.type) else "it holds a time"
        return UnrepresentableValue(f"{what} before the year 1 or after the year 9999")
