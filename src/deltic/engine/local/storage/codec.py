"""Between Arrow columns and int64: order is kept for every type but text, whose values are interned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.types import Type
from deltic.engine.local.storage.layout import Values
from deltic.engine.local.storage.text_order import TextOrder

_SIGN = np.int64(-(2**63))


class Interner:
    """Text to dense ids and back; append-only: an id never changes its meaning. `order` is that of the texts."""

    def __init__(self) -> None:
        self._ids = _Numbering()
        self._array = pa.array([], pa.string())
        self.order = TextOrder(self)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def texts(self) -> Sequence[str]:
        """The texts by their ids."""
        return self._ids.texts

    def find(self, text: str) -> int | None:
        """The id of a text that is known, else None."""
        return self._ids.get(text)

    def encode(self, column: pa.Array | pa.ChunkedArray) -> Values:
        """The ids of a column of text; only its distinct texts are looked up one by one."""
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        encoded = column.dictionary_encode()
        ids = np.fromiter(map(self._ids.__getitem__, encoded.dictionary.to_pylist()), np.int64)
        return ids[encoded.indices.to_numpy(zero_copy_only=False)] if len(ids) else np.empty(0, np.int64)

    def decode(self, ids: Values) -> pa.Array:
        """The texts of ids: at the cost of the ids while they are few, else by one Arrow gather."""
        texts = self._ids.texts
        if 8 * len(ids) < len(texts):
            return pa.array(list(map(texts.__getitem__, ids.tolist())), pa.string())
        if len(self._array) < len(texts):
            self._array = pa.concat_arrays([self._array, pa.array(texts[len(self._array) :], pa.string())])
        return self._array.take(pa.array(ids))


class _Numbering(dict[str, int]):
    """A dictionary that numbers its keys as they are asked for; `texts` has them in that order."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self.texts)
        self.texts.append(key)
        return number


def encode(column: Any, type_: Type, interner: Interner) -> Values:
    """A column without nulls as int64 values."""
    if type_ is Type.STRING:
        return interner.encode(column)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if type_ is Type.UINT64:
        values: Values = column.to_numpy(zero_copy_only=False).astype(np.uint64).view(np.int64) ^ _SIGN
        return values
    if type_ is Type.FLOAT64:
        return order_floats(column.to_numpy(zero_copy_only=False).astype(np.float64))
    if type_ in (Type.DATE, Type.TIMESTAMP_NTZ):
        column = column.cast(pa.int32() if type_ is Type.DATE else pa.int64())
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)


def decode(values: Values, type_: Type, interner: Interner) -> pa.Array:
    """The Arrow column of int64 values."""
    if type_ is Type.STRING:
        return interner.decode(values)
    if type_ is Type.UINT64:
        return pa.array((values ^ _SIGN).view(np.uint64), pa.uint64())
    if type_ is Type.FLOAT64:
        return pa.array(unorder_floats(values), pa.float64())
    if type_ is Type.BOOLEAN:
        return pa.array(values.astype(bool))
    if type_ is Type.DATE:
        return pa.array(values.astype(np.int32), pa.int32()).cast(pa.date32())
    return pc.cast(pa.array(values), type_.arrow)


def encode_scalar(value: Any, type_: Type, interner: Interner) -> int:
    """One value as encode would give it."""
    return int(encode(pa.array([value], type_.arrow), type_, interner)[0])


def order_floats(values: np.ndarray[Any, np.dtype[np.float64]]) -> Values:
    """Floats as integers in the same order; −0.0 becomes 0.0 and every NaN the same one, above all others."""
    values = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = values.view(np.int64)
    return bits ^ ((bits >> 63) & ~_SIGN)


def unorder_floats(values: Values) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The inverse of `order_floats`."""
    return (values ^ ((values >> 63) & ~_SIGN)).view(np.float64)
