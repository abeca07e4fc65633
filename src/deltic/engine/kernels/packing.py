"""Packs columns into rows, and unpacks them. The arrays of columns are given by their addresses, for any number of
them.

The places of columns are rows of a table: word, shift, mask and base, see `storage.layout`.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memory import load_i64, load_u8, load_u64, store_u8, store_u64
from deltic.engine.kernels.types import Bytes, Int, Ints, Rows, Table, Words2

_WORD, _SHIFT, _MASK, _BASE = range(4)
# The least and the greatest value of a domain, whether it has NULL, and whether one value in between has no place.
_LEAST, _GREATEST, _NULLABLE, _HAS_GAP, _GAP = range(5)


@kernel
def places_of(values: Table, nulls: Bytes) -> Table:
    """Return the addresses of the values and of the NULL masks of columns, which follow each other: int64[n, 2]."""
    columns, count = values.shape
    result = np.empty((columns, 2), np.int64)
    for c in range(columns):
        result[c, 0] = values.ctypes.data + 8 * count * c
        result[c, 1] = nulls.ctypes.data + count * c
    return result


@kernel
def pack_offsets(columns: Ints, places: Table, words: Words2) -> None:
    """Pack the offsets at the address of each column into rows, which are zero at first."""
    for c in range(columns.size):
        row = words[places[c, _WORD]]
        shift = np.uint64(places[c, _SHIFT])
        for i in range(row.size):
            row[i] |= load_u64(columns[c], i) << shift


@kernel
def pack_values(columns: Table, places: Table, words: Words2) -> None:
    """Pack values into rows, which are zero at first; NULL is offset 0.

    Each column has its address, and the address of bytes that are 1 where it is NULL, or 0 for none.
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
    """Unpack the values of columns, and where their offset is 0, NULL if a column is nullable."""
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
    """Unpack the offsets of columns, each into a row of `offsets`."""
    for c in range(places.shape[0]):
        row = words[places[c, _WORD]]
        shift = np.uint64(places[c, _SHIFT])
        mask = np.uint64(places[c, _MASK])
        column = offsets[c]
        for i in range(row.size):
            column[i] = (row[i] >> shift) & mask


@kernel
def move_offsets(words: Words2, origins: Table, places: Table, moved: Words2) -> None:
    """Copy columns of rows from their origins to places in other rows, which are zero at first."""
    for c in range(places.shape[0]):
        row = words[origins[c, _WORD]]
        shift = np.uint64(origins[c, _SHIFT])
        mask = np.uint64(origins[c, _MASK])
        other = moved[places[c, _WORD]]
        there = np.uint64(places[c, _SHIFT])
        for i in range(row.size):
            other[i] |= ((row[i] >> shift) & mask) << there


@compiled
def _fits(columns: Table, c: Int, i: Int, limits: Table) -> bool:
    """Return whether value `i` of a column has a place: within limits, and none in a gap; or NULL where that is
    allowed.
    """
    if columns[c, 1] and load_u8(columns[c, 1], i):
        return bool(limits[c, _NULLABLE] == 1)
    value = load_i64(columns[c, 0], i)
    is_gap: bool = limits[c, _HAS_GAP] == 1 and value == limits[c, _GAP]
    return bool(limits[c, _LEAST] <= value <= limits[c, _GREATEST] and not is_gap)


@kernel
def all_fit(columns: Table, count: Int, limits: Table) -> bool:
    """Return whether `count` values of each column have places.

    Of each column its address, and that of the bytes that say where it is NULL, or 0.
    """
    for c in range(columns.shape[0]):
        for i in range(count):
            if not _fits(columns, c, i, limits):
                return False
    return True


@kernel
def pack_groups(
    keys: Rows, groups: Ints, columns: Table, at: Ints, limits: Table, places: Table, words: Words2
) -> bool:
    """Enter keys, at `groups`, and values, where they are `at`, into rows that are zero so far; see `all_fit`.

    False, and the rows are of no use, where a value has no place.
    """
    for c in range(keys.shape[0]):
        row, shift = words[places[c, _WORD]], np.uint64(places[c, _SHIFT])
        for i in range(at.size):
            row[i] |= keys[c, groups[i]] << shift
    for c in range(columns.shape[0]):
        place = places[keys.shape[0] + c]
        row, shift, base = words[place[_WORD]], np.uint64(place[_SHIFT]), np.uint64(place[_BASE])
        for i in range(at.size):
            if not _fits(columns, c, at[i], limits):
                return False
            if columns[c, 1] == 0 or load_u8(columns[c, 1], at[i]) == 0:
                row[i] |= (load_u64(columns[c, 0], at[i]) - base) << shift
    return True


@kernel
def groups_of(words: Words2, places: Table, keys: Int, stored: Table, width: Int) -> tuple[Words2, Ints, Words2]:
    """Return the offsets of the columns of sorted rows; the first row of each group, by the first columns, `keys` of
    them; and the row (key, 0) of each group, in `width` words, at the places `stored`.
    """
    columns = np.empty((places.shape[0], words.shape[1]), np.uint64)
    unpack_offsets(words, places, columns)
    starts, n = np.empty(words.shape[1], np.int64), 0
    for i in range(words.shape[1]):
        is_new = i == 0
        for c in range(keys):
            is_new = is_new or columns[c, i] != columns[c, i - 1]
        starts[n] = i
        n += is_new
    rows = np.zeros((width, n), np.uint64)
    for c in range(keys):
        row, shift = rows[stored[c, _WORD]], np.uint64(stored[c, _SHIFT])
        for g in range(n):
            row[g] |= columns[c, starts[g]] << shift
    return columns, starts[:n].copy(), rows


@kernel
def ranges(columns: Table, count: Int, result: Table) -> None:
    """Return the least and the greatest of `count` values of each column without NULL; the least is greater if there
    are none.

    Each column has its address, and the address of bytes that are 1 where it is NULL, or 0 for none.
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
