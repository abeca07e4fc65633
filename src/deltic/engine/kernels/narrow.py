"""Times and weights in as few bytes as they need.

Their arrays start at multiples of four, and the two lowest bits of an address are the width of the elements: zero for
the widest, int32 times and int64 weights; the codes below for others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltic.engine.kernels.declaring import Access, inlined
from deltic.engine.kernels.memory import load_i32, load_i64, store_i32, store_i64
from deltic.engine.kernels.types import Int

# The codes of arrays of signed integers, by the bytes of an element.
TIME_CODES = {4: 0, 2: 1, 1: 2}
WEIGHT_CODES = {8: 0, 4: 1, 2: 2, 1: 3}

_load_i16: Any = Access("load", "int16")
_load_i8: Any = Access("load", "int8")
_store_i16: Any = Access("store", "int16")
_store_i8: Any = Access("store", "int8")


@inlined
def load_time(address: Int, i: Int) -> Int:
    """Return element `i` of the times at a coded address."""
    code = address & 3
    if code == 0:
        return np.int64(load_i32(address, i))
    if code == 1:
        return np.int64(_load_i16(address - 1, i))
    return np.int64(_load_i8(address - 2, i))


@inlined
def store_time(address: Int, i: Int, time: Int) -> None:
    """Set element `i` of the times at a coded address to a value that fits."""
    code = address & 3
    if code == 0:
        store_i32(address, i, np.int32(time))
    elif code == 1:
        _store_i16(address - 1, i, np.int16(time))
    else:
        _store_i8(address - 2, i, np.int8(time))


@inlined
def load_weight(address: Int, i: Int) -> Int:
    """Return element `i` of the weights at a coded address; 1 if there are none, at 0."""
    code = address & 3
    if address == 0:
        return np.int64(1)
    if code == 0:
        return np.int64(load_i64(address, i))
    if code == 1:
        return np.int64(load_i32(address - 1, i))
    if code == 2:
        return np.int64(_load_i16(address - 2, i))
    return np.int64(_load_i8(address - 3, i))


@inlined
def store_weight(address: Int, i: Int, weight: Int) -> None:
    """Set element `i` of the weights at a coded address to a value that fits."""
    code = address & 3
    if code == 0:
        store_i64(address, i, np.int64(weight))
    elif code == 1:
        store_i32(address - 1, i, np.int32(weight))
    elif code == 2:
        _store_i16(address - 2, i, np.int16(weight))
    else:
        _store_i8(address - 3, i, np.int8(weight))
