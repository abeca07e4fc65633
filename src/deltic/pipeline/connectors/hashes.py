"""Hashes of rows, equal in every process: they assign rows to files, and show whether a file is intact.

The sum of the hashes of some rows, modulo 2⁶⁴, is their *digest*. It does not depend on the order of rows, and is
updated in time proportional to the changed rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.values.hashing import xxhash64

HASHES = "xxhash64"
"""The name of the hashes in a listing of files. Hashes with different names are different."""

Hashes = npt.NDArray[np.uint64]
_NULL, _STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x100000001B3)


def row_hashes(rows: pa.Table, columns: Sequence[str]) -> Hashes:
    """Return a hash of each row by the values of these columns. NULL is a value; zeros are equal, and so are NaNs."""
    result = np.full(len(rows), len(columns), np.uint64)
    for name in columns:
        result = _mixed(result * _STEP + _hashes(rows.column(name)))
    return result


def digest(hashes: Hashes) -> int:
    """Return the sum of hashes."""
    return int(hashes.sum(dtype=np.uint64))


def _hashes(column: pa.ChunkedArray) -> Hashes:
    words = _words(column)
    if column.null_count:
        words = np.where(np.asarray(column.is_null()), _NULL, words)
    return words


def _words(column: pa.ChunkedArray) -> Hashes:
    """Return 64 bits of each value; any value for NULL."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or (pa.types.is_temporal(kind) and kind.bit_width <= 64):
        if not pa.types.is_integer(kind):
            column = column.cast({1: pa.int8(), 32: pa.int32()}.get(kind.bit_width, pa.int64()))
        values = np.asarray(column.fill_null(0))
        return _mixed(values.astype(np.uint64 if values.dtype == np.uint64 else np.int64).view(np.uint64))
    if pa.types.is_floating(kind):
        floats = np.asarray(column.fill_null(0).cast(pa.float64())) + 0.0
        return _mixed(np.where(np.isnan(floats), np.nan, floats).view(np.uint64))
    return xxhash64([_texts(column)], len(column))


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Return distinct texts for distinct values."""
    if pa.types.is_decimal(column.type):
        return column.cast(pa.string())
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return column
    return pa.array(map(repr, column.to_pylist()), pa.string())


def _mixed(words: Hashes) -> Hashes:
    """The finalizer of SplitMix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
