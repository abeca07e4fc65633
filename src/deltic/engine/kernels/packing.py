"""Columns into packed rows and out of them. Arrays of columns are given by their addresses, so that there may be many.

The places of columns are rows of a table: word, shift, mask and base, see `storage.layout`.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import kernel
from deltic.engine.kernels.memory import load_i64, load_u8, load_u64, store_u8, store_u64
from deltic.engine.kernels.types import Int, Ints, Table, Words2

_WORD, _SHIFT, _MASK, _BASE = range(4)


@kernel
def pack_offsets(columns: Ints, places: Table, words: Words2) -> None:
    """Enter the offsets at the address of each column into rows that are zero so far."""
    for c in range(columns.size):
        row = words[places[c, _WORD]]
        shift = np.uint64(places[c, _SHIFT])
        for i in range(row.size):
            row[i] |= load_u64(columns[c], i) << shift


@kernel
def pack_values(columns: Table, places: Table, words: Words2) -> None:
    """Enter values into rows that are zero so far; NULL is offset 0.

    Of each column its address, and that of bytes that say where it is NULL, or 0.
    """
    for c in range(columns.shape[0]):
        values = columns[c, 0]
        nulls = columns[c, 1]
        row = words[places[c, _WORD]]
        shift = np.uint64(places[c, _SHIFT])
        base = np.uint64(places[c, _BASE])
        for i in range(row.size):
            if nulls == 0 or load_u8(nulls, i) == 0:
                row[i] |= (load_u64(values, i) - base) << shift


@kernel
def unpack_values(words: Words2, places: Table, columns: Table) -> None:
    """The values of columns of rows, and where their offset is 0, which is NULL where a column is nullable."""
    for c in range(columns.shape[0]):
        values = columns[c, 0]
        nulls = columns[c, 1]
        row = words[places[c, _WORD]]
        shift = np.uint64(places[c, _SHIFT])
        mask = np.uint64(places[c, _MASK])
        base = np.uint64(places[c, _BASE])
        for i in range(row.size):
            offset = (row[i] >> shift) & mask
            store_u64(values, i, offset + base)
            store_u8(nulls, i, np.uint8(offset == 0))


@kernel
def unpack_offsets(words: Words2, places: Table, offsets: Words2) -> None:
    """The offsets of columns of rows, each in a row of `offsets`."""
    for c in range(places.shape[0]):
        row = words[places[c, _WORD]]
        shift = np.uint64(places[c, _SHIFT])
        mask = np.uint64(places[c, _MASK])
        column = offsets[c]
        for i in range(row.size):
            column[i] = (row[i] >> shift) & mask


@kernel
def move_offsets(words: Words2, origins: Table, places: Table, moved: Words2) -> None:
    """Enter columns of rows from their origins into places of others, which are zero so far."""
    for c in range(places.shape[0]):
        row = words[origins[c, _WORD]]
        shift = np.uint64(origins[c, _SHIFT])
        mask = np.uint64(origins[c, _MASK])
        other = moved[places[c, _WORD]]
        there = np.uint64(places[c, _SHIFT])
        for i in range(row.size):
            other[i] |= ((row[i] >> shift) & mask) << there


@kernel
def ranges(columns: Table, count: Int, result: Table) -> None:
    """The least and the greatest of `count` values of each column that are not NULL, the least greater for none.

    Of each column its address, and that of the bytes that say where it is NULL, or 0.
    """
    for c in range(columns.shape[0]):
        nulls = columns[c, 1]
        least = np.int64(9223372036854775807)
        greatest = np.int64(-9223372036854775808)
        for i in range(count):
            if nulls == 0 or load_u8(nulls, i) == 0:
                value = load_i64(columns[c, 0], i)
                least = min(least, value)
                greatest = max(greatest, value)
        result[c, 0] = least
        result[c, 1] = greatest
