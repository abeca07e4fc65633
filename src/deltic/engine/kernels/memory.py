"""Arrays by their addresses, so that one kernel serves any number of runs and tables.

The caller keeps the array alive during the call. Compiled code loads and stores the element at an index of a contiguous
array at an address, `load_u64(address, index)` and `store_u64(address, index, value)`, and reads all of it as an array,
`array_i64(address, count)` and `table_i64(address, rows, columns)`. `load_word(address, index)` loads the eight bytes
from the byte at an index on.
"""

from __future__ import annotations

from ctypes import c_ssize_t
from typing import Any

import numpy as np

from deltic.engine.kernels.declaring import Access

# An array of numpy begins with the head of every object, and then the address of its elements.
_DATA = object.__basicsize__
_pointer = c_ssize_t.from_address


def address_of(array: np.ndarray[Any, Any]) -> int:
    """Return the address of the elements: `array.ctypes.data`, twenty times faster."""
    return _pointer(id(array) + _DATA).value


load_u8: Any = Access("load", "uint8")
load_u64: Any = Access("load", "uint64")
load_i64: Any = Access("load", "int64")
load_i32: Any = Access("load", "int32")
load_word: Any = Access("unaligned", "uint64")
store_u8: Any = Access("store", "uint8")
store_u64: Any = Access("store", "uint64")
store_i64: Any = Access("store", "int64")
store_i32: Any = Access("store", "int32")
array_i64: Any = Access("vector", "int64")
table_i64: Any = Access("table", "int64")
