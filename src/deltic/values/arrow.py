"""Conversion of columns between row values and Arrow."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC
from typing import Any

from deltic.lazy import np, pa
from deltic.values.python import of_python, to_python
from deltic.values.types import Kind, Type

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.DAY_TIME_INTERVAL)
# Kinds whose values in rows differ from the Python values that Arrow returns.
_OTHER = (Kind.YEAR_MONTH_INTERVAL, Kind.ARRAY, Kind.STRUCT, Kind.MAP)


def from_arrow(column: pa.Array | pa.ChunkedArray, type_: Type) -> list[Any]:
    """Return the values of a column of the type, in the form of rows."""
    if type_.kind in _TIMES:  # by numpy, which makes Python's times of them ten times as fast
        times: list[Any] = column.cast(type_.arrow).to_numpy(zero_copy_only=False).tolist()
        return [t and t.replace(tzinfo=UTC) for t in times] if type_.kind is Kind.TIMESTAMP else times
    values: list[Any] = column.to_pylist()
    if type_.is_float:
        return [math.nan if value != value else value for value in values]
    return [of_python(value, type_) for value in values] if type_.kind in _OTHER else values


def to_arrow(values: Iterable[Any], type_: Type) -> pa.Array:
    """Return an Arrow column of values from rows."""
    given = (to_python(value, type_) for value in values) if type_.kind in _OTHER else values
    return pa.array(list(given), type_.arrow)


def numbers_of(column: pa.Array, type_: Type) -> Any:
    """Return the numbers of a column without NULL as a numpy array; times are days or microseconds since 1970."""
    if type_ is Type.YEAR_MONTH_INTERVAL:
        return np.array(from_arrow(column, type_), np.int64)
    is_time = type_.kind in _TIMES or type_ is Type.TIME
    whole = pa.int32() if type_ is Type.DATE else pa.int64() if is_time else column.type
    return (column if column.type == whole else column.cast(whole)).to_numpy(zero_copy_only=False)


def of_numbers(numbers: Any, type_: Type, undefined: Any = None) -> pa.Array:
    """Return the inverse of `numbers_of`; NULL where `undefined`."""
    if type_ is Type.YEAR_MONTH_INTERVAL:
        missing = np.zeros(len(numbers), bool) if undefined is None else undefined
        return to_arrow((None if gone else n for n, gone in zip(numbers.tolist(), missing, strict=True)), type_)
    column = pa.array(numbers, mask=undefined)
    if type_ is Type.DATE:
        column = column.cast(pa.int32())
    return column if column.type == type_.arrow else column.cast(type_.arrow)
