"""Conversion between Arrow and int64 values. It keeps the order of every type that is not labelled.

A decimal is stored as an integer, in units of its last digit. Decimals that are too large for this are interned.
They are rare, and two words for each decimal would need two places for a column in every kernel.

Single values are converted by the `reader` and the `writer` of their type, which is cheap for one value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.storage.columns import Column, Nulls, Values
from deltic.engine.storage.dictionary import UNKNOWN
from deltic.engine.storage.interner import Interner, is_labelled, of_words, words_of
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import Weights, Words
from deltic.values import from_arrow, numbers_of, of_numbers, to_arrow, to_python
from deltic.values.types import Kind, Schema, Type

Known = npt.NDArray[np.bool_] | None

_SIGN = np.int64(-(2**63))


def encode(column: pa.Array | pa.ChunkedArray, type_: Type, interner: Interner) -> Column:
    """Return a column as int64 values, and its NULL mask."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not column.null_count:
        return _encode(column, type_, interner), None
    nulls: Nulls = column.is_null().to_numpy(zero_copy_only=False)
    assert nulls is not None
    values = np.zeros(len(column), np.int64)
    values[~nulls] = _encode(column.drop_null(), type_, interner)
    return values, nulls


def encode_known(column: pa.Array | pa.ChunkedArray, type_: Type, interner: Interner) -> tuple[Column, Known]:
    """Encode a column like `encode`, but add nothing to the interner. Also return which values are known; None: all."""
    if not is_labelled(type_):
        return encode(column, type_, interner), None
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    nulls = column.is_null().to_numpy(zero_copy_only=False)
    values = np.zeros(len(column), np.int64)
    values[~nulls] = interner.known(type_).find_all(column.drop_null())
    return (values, nulls), values != UNKNOWN


def encode_listed(values: list[Any], type_: Type, interner: Interner) -> tuple[Column, Known]:
    """Encode values of rows like `encode_known`."""
    if _is_plain(type_) and None not in values:
        return (np.array(values, np.int64), None), None
    return encode_known(to_arrow(values, type_), type_, interner)


def decode_listed(values: Values, nulls: Nulls, type_: Type, interner: Interner) -> list[Any]:
    """Return int64 values with a NULL mask in the form of rows."""
    if _is_plain(type_) and (nulls is None or not nulls.any()):
        result: list[Any] = values.tolist()
        return result
    return from_arrow(decode(values, nulls, type_, interner), type_)


def _is_plain(type_: Type) -> bool:
    """Return whether the stored integers are the values themselves."""
    return type_.is_integer and type_.kind not in _ENCODE


def decode(values: Values, nulls: Nulls, type_: Type, interner: Interner) -> pa.Array:
    """Return the Arrow column of int64 values with a NULL mask."""
    if nulls is None or not nulls.any():
        return _decode(values, type_, interner)
    there = _decode(values[~nulls], type_, interner)
    return there.take(pa.array(np.cumsum(~nulls) - 1, mask=nulls))


def decode_rows(
    schema: Schema,
    layout: Layout,
    words: Words,
    interner: Interner,
    weights: Weights | None = None,
    wanted: Sequence[str] | None = None,
) -> pa.Table:
    """Return packed rows as an Arrow table, with all columns or the wanted ones, and WEIGHT if weights are given."""
    places = range(len(schema)) if wanted is None else [schema.index(name) for name in wanted]
    columns = [decode(*layout.value(words, place), schema.columns[place].type, interner) for place in places]
    fields = pa.schema([schema.to_arrow().field(place) for place in places]) if wanted else schema.to_arrow()
    if weights is not None:
        columns.append(pa.array(weights, pa.int64()))
        fields = fields.append(pa.field(WEIGHT, pa.int64(), nullable=False))
    return pa.table(columns, schema=fields) if columns else nullary(words.shape[1])


def nullary(count: int) -> pa.Table:
    """Return a table of `count` rows without columns."""
    return pa.table({"_": pa.nulls(count)}).select([])


def _encode(column: pa.Array, type_: Type, interner: Interner) -> Values:
    """Return a column without NULL as int64 values."""
    if is_labelled(type_):
        return interner[type_].encode(column)
    if type_.kind in _ENCODE:
        return _ENCODE[type_.kind](column)
    return np.ascontiguousarray(numbers_of(column, type_), dtype=np.int64)


def _decode(values: Values, type_: Type, interner: Interner) -> pa.Array:
    if is_labelled(type_):
        return interner.known(type_).decode(values)
    if type_.kind in _DECODE:
        return _DECODE[type_.kind](values, type_)
    return of_numbers(values, type_)


def encode_scalar(value: Any, type_: Type, interner: Interner) -> int:
    """Encode one non-NULL value like `encode`."""
    return int(_encode(pa.array([value], type_.arrow), type_, interner)[0])


def _months(column: pa.Array) -> Values:
    """Return the months of intervals, which Arrow stores as 32 bits of months, 32 of days and 64 of nanoseconds."""
    return np.frombuffer(column.buffers()[1], np.int32)[4 * column.offset :: 4][: len(column)].astype(np.int64)


def _of_months(values: Values, type_: Type) -> pa.Array:
    """Return the inverse of `_months`."""
    parts = np.zeros((len(values), 4), np.int32)
    parts[:, 0] = values
    return pa.Array.from_buffers(type_.arrow, len(values), [None, pa.py_buffer(parts)])


_ENCODE: dict[Kind, Callable[[pa.Array], Values]] = {
    Kind.UINT64: lambda column: column.to_numpy(zero_copy_only=False).astype(np.uint64).view(np.int64) ^ _SIGN,
    Kind.FLOAT64: lambda column: order_floats(column.to_numpy(zero_copy_only=False).astype(np.float64)),
    Kind.FLOAT32: lambda column: order_singles(column.to_numpy(zero_copy_only=False).astype(np.float32)),
    Kind.DECIMAL: lambda column: words_of(column)[0].copy(),
    Kind.YEAR_MONTH_INTERVAL: _months,
}
_DECODE: dict[Kind, Callable[[Values, Type], pa.Array]] = {
    Kind.BOOLEAN: lambda values, type_: pa.array(values.astype(bool)),
    Kind.UINT64: lambda values, type_: pa.array((values ^ _SIGN).view(np.uint64), pa.uint64()),
    Kind.FLOAT64: lambda values, type_: pa.array(unorder_floats(values), pa.float64()),
    Kind.FLOAT32: lambda values, type_: pa.array(unorder_singles(values), pa.float32()),
    Kind.DECIMAL: lambda values, type_: of_words(values, values >> 63, type_),
    Kind.YEAR_MONTH_INTERVAL: _of_months,
}


def order_floats(values: np.ndarray[Any, np.dtype[np.float64]]) -> Values:
    """Return floats as integers in the same order. −0.0 becomes 0.0; every NaN becomes one value, above all others."""
    values = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = values.view(np.int64)
    return bits ^ ((bits >> 63) & ~_SIGN)


def unorder_floats(values: Values) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the inverse of `order_floats`."""
    return (values ^ ((values >> 63) & ~_SIGN)).view(np.float64)


def order_singles(values: np.ndarray[Any, np.dtype[np.float32]]) -> Values:
    """Map floats of 32 bits to integers of 32 bits, like `order_floats`."""
    values = np.where(np.isnan(values), np.float32(np.nan), values + np.float32(0))
    bits = values.view(np.int32)
    return (bits ^ ((bits >> 31) & np.int32(2**31 - 1))).astype(np.int64)


def unorder_singles(values: Values) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the inverse of `order_singles`."""
    bits = values.astype(np.int32)
    return (bits ^ ((bits >> 31) & np.int32(2**31 - 1))).view(np.float32)


_TOP = 1 << 63
_DOUBLE, _LONG = struct.Struct("<d"), struct.Struct("<q")
_NAN = 0x7FF8 << 48


def reader(type_: Type, interner: Interner) -> Callable[[int], Any]:
    """Return the function from stored values of a type, not NULL, to the values of Python rows."""
    match type_.kind:
        case Kind.BOOLEAN:
            return bool
        case Kind.UINT64:
            return lambda held: held + _TOP
        case Kind.FLOAT64:
            return _float_of
        case Kind.STRING:
            return interner.text.value
        case _ if type_.is_integer:
            return int
        case _:
            return lambda held: from_arrow(decode(np.array([held]), None, type_, interner), type_)[0]


def writer(type_: Type, interner: Interner) -> Callable[[Any], int]:
    """Return the inverse of `reader`. New values of interned types get an id."""
    match type_.kind:
        case Kind.UINT64:
            return lambda value: int(value) - _TOP
        case Kind.FLOAT64:
            return _of_float
        case Kind.STRING:
            return interner.text.number_of
        case _ if type_.is_integer or type_.kind is Kind.BOOLEAN:
            return int
        case _:
            return lambda value: encode_scalar(to_python(value, type_), type_, interner)


def _float_of(held: int) -> float:
    number: float = _DOUBLE.unpack(_LONG.pack(held ^ (held >> 63 & _TOP - 1)))[0]
    return number


def _of_float(value: float) -> int:
    """Convert a float like `codec.order_floats`."""
    bits: int = _NAN if value != value else _LONG.unpack(_DOUBLE.pack(value + 0.0))[0]
    return bits ^ (bits >> 63 & _TOP - 1)
