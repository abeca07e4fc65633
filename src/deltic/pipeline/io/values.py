"""Typed values from Python and Arrow: which of them a column takes, and what to say about the others."""

from __future__ import annotations

import datetime
import decimal
import numbers
import re
from typing import Any

import pyarrow as pa

from deltic.circuit.types import Column, Type
from deltic.pipeline.io.layout import EXPECTED, RANGES

_SURROGATE = re.compile("[\ud800-\udfff]")


def accepts(type_: Type, arrow: pa.DataType) -> bool:
    """Whether a column of `type_` takes values from an Arrow column of type `arrow`, as far as they fit."""
    if pa.types.is_dictionary(arrow):
        return accepts(type_, arrow.value_type)
    if pa.types.is_null(arrow):
        return True
    whole = pa.types.is_integer(arrow) or (pa.types.is_decimal(arrow) and arrow.scale == 0)
    match type_:
        case Type.INT64 | Type.UINT64:
            return bool(whole)
        case Type.FLOAT64:
            return bool(whole or pa.types.is_floating(arrow))
        case Type.STRING:
            return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or arrow == pa.string_view())
        case Type.BOOLEAN:
            return bool(pa.types.is_boolean(arrow))
        case Type.DATE:
            return bool(pa.types.is_date(arrow))
        case Type.TIMESTAMP_NTZ:
            return bool(pa.types.is_timestamp(arrow))
        case _:
            return Type.of_arrow(arrow) is type_


def problem(value: Any, column: Column) -> str | None:
    """Why `value`, a Python value, is not one of the column; None when it is."""
    if value is None:
        return None if column.nullable else f"expected {EXPECTED[column.type]}, found null"
    if not _is_instance(value, column.type):
        return f"expected {EXPECTED[column.type]}, found {_shown(value)}"
    if column.type in RANGES:
        least, greatest = RANGES[column.type]
        if not least <= value <= greatest:
            return f"{value} is out of range for {EXPECTED[column.type]} ({least} to {greatest})"
    if isinstance(value, str) and _SURROGATE.search(value):
        return f"{value!r} holds half of a surrogate pair, which is not text"
    return None


def whole(value: Any) -> Any:
    """A decimal without a fraction, as Spark writes unsigned integers, as an integer; other values as they are."""
    return int(value) if isinstance(value, decimal.Decimal) and value == value.to_integral_value() else value


def _is_instance(value: Any, type_: Type) -> bool:
    match type_:
        case Type.BOOLEAN:
            return isinstance(value, bool)
        case Type.INT64 | Type.UINT64:
            return isinstance(value, numbers.Integral) and not isinstance(value, bool)
        case Type.FLOAT64:
            return isinstance(value, numbers.Real) and not isinstance(value, bool)
        case Type.STRING:
            return isinstance(value, str)
        case Type.DATE:
            return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
        case Type.TIMESTAMP_NTZ:
            return isinstance(value, datetime.datetime)
        case _:
            raise AssertionError(f"values of type {type_} do not reach this far")


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:40] + '…'} ({type(value).__name__})"
