"""Reads columns of Arrow as int64 values through the C data interface, all columns of a batch in one call.

A batch is the address of its `ArrowArray`, whose fields are eight bytes each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltic.engine.kernels.declaring import Access, compiled, kernel
from deltic.engine.kernels.memory import load_i32, load_i64, load_u8, store_i64, store_u8
from deltic.engine.kernels.types import Int, Ints, Table

# How values stand in the buffers of Arrow, and what becomes of them. Columns of LEFT_OUT are not read.
LEFT_OUT, BITS, I8, I16, I32, I64, U8, U16, U32, U64, SINGLES, DOUBLES, PAIRS, MONTHS = range(14)
# Fields of an ArrowArray.
_LENGTH, _NULLS, _OFFSET, _BUFFERS, _CHILDREN = 0, 1, 2, 5, 6
# Floats whose bits, without the sign, are greater are no numbers, and are read as one of them.
_INFINITE, _NAN = 0x7FF0000000000000, 0x7FF8000000000000
_INFINITE_32, _NAN_32 = 0x7F800000, 0x7FC00000

_load_i8: Any = Access("load", "int8")
_load_i16: Any = Access("load", "int16")
_load_u16: Any = Access("load", "uint16")
_load_u32: Any = Access("load", "uint32")


@compiled
def _ordered(bits: Int) -> Int:
    """Return the bits of a float64 as an integer with the order of floats; −0.0 becomes 0.0, and all NaN are equal."""
    size = bits & 0x7FFFFFFFFFFFFFFF
    if size > _INFINITE:
        return np.int64(_NAN)
    return size if bits >= 0 else np.int64(0) if size == 0 else ~size


@compiled
def _ordered_single(bits: Int) -> Int:
    """Return the same for a float32, sign-extended."""
    size = bits & 0x7FFFFFFF
    if size > _INFINITE_32:
        return np.int64(_NAN_32)
    return size if bits >= 0 else np.int64(0) if size == 0 else ~size


@compiled
def _value(code: Int, address: Int, i: Int) -> Int:
    """Return the value at an index of a buffer, for the types that `_read` does not read in a loop of their own."""
    if code == DOUBLES:
        return _ordered(load_i64(address, i))
    if code == SINGLES:
        return _ordered_single(np.int64(load_i32(address, i)))
    if code == BITS:
        return _bit(address, i)
    if code == I8:
        return np.int64(_load_i8(address, i))
    if code == I16:
        return np.int64(_load_i16(address, i))
    if code == U8:
        return np.int64(load_u8(address, i))
    if code == U16:
        return np.int64(_load_u16(address, i))
    if code == U32:
        return np.int64(_load_u32(address, i))
    return np.int64(load_i64(address, i)) ^ np.int64(-9223372036854775808)


@compiled
def _bit(address: Int, i: Int) -> Int:
    return np.int64(load_u8(address, i >> 3) >> (i & 7)) & 1


@compiled
def _read(code: Int, address: Int, first: Int, count: Int, values: Int) -> None:
    """Copy the values of a buffer from an index on. Frequent types have loops of their own, without a test for each
    value.
    """
    if code == I32 or code == MONTHS:
        step = 4 if code == MONTHS else 1
        for i in range(count):
            store_i64(values, i, np.int64(load_i32(address, step * (first + i))))
    elif code == I64 or code == PAIRS:
        step = 2 if code == PAIRS else 1
        for i in range(count):
            store_i64(values, i, load_i64(address, step * (first + i)))
    else:
        for i in range(count):
            store_i64(values, i, _value(code, address, first + i))


@kernel
def read_columns(batch: Int, codes: Ints, columns: Table, start: Int, nullable: Ints) -> None:
    """Copy the values of a batch into arrays from index `start` on, and mark the columns that have a NULL.

    Each column has the code of its Arrow type, the address of the values, and the address of zeros, which become one
    where a value is NULL. A NULL is 0 among the values.
    """
    children = load_i64(batch, _CHILDREN)
    for c in range(columns.shape[0]):
        code = codes[c]
        if code == LEFT_OUT:
            continue
        values = columns[c, 0] + 8 * start
        nulls = columns[c, 1] + start
        child = load_i64(children, c)
        first = load_i64(child, _OFFSET)
        buffers = load_i64(child, _BUFFERS)
        valid = load_i64(buffers, 0) if load_i64(child, _NULLS) else np.int64(0)
        count = load_i64(child, _LENGTH)
        _read(code, load_i64(buffers, 1), first, count, values)
        for i in range(count if valid else 0):
            if _bit(valid, first + i) == 0:
                store_i64(values, i, np.int64(0))
                store_u8(nulls, i, np.uint8(1))
                nullable[c] = 1
