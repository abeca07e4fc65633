"""Arrays by their addresses, so that one kernel serves any number of runs and of tables.

The caller keeps the array alive for the duration of the call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numba.np.numpy_support import carray


def address_of(array: np.ndarray[Any, Any]) -> int:
    """Where the elements are; as `array.ctypes.data`, without making an object for it."""
    address: int = array.__array_interface__["data"][0]
    return address


def loader(element: Any, width: int) -> Any:
    """An intrinsic that loads element `index` of a contiguous array at `address`."""

    def load(typingctx: Any, address: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], context.get_value_type(element).as_pointer())
            return builder.load(builder.gep(pointer, [args[1]]), align=width)

        return element(types.int64, types.int64), codegen

    return intrinsic(load)


def storer(element: Any, width: int) -> Any:
    """An intrinsic that stores element `index` of a contiguous array at `address`."""

    def store(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], context.get_value_type(element).as_pointer())
            builder.store(args[2], builder.gep(pointer, [args[1]]), align=width)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, element), codegen

    return intrinsic(store)


def _pointer(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(types.int64).as_pointer())

    pointer: Any = types.CPointer
    return pointer(types.int64)(types.int64), codegen


_pointer_i64: Any = intrinsic(_pointer)


@njit(cache=True)
def array_i64(address: Any, count: Any) -> Any:
    """The array int64[count] at an address."""
    return carray(_pointer_i64(address), (count,))


@njit(cache=True)
def table_i64(address: Any, rows: Any, columns: Any) -> Any:
    """The array int64[rows, columns] at an address."""
    return carray(_pointer_i64(address), (rows, columns))


load_u64 = loader(types.uint64, 8)
load_i64 = loader(types.int64, 8)
load_i32 = loader(types.int32, 4)
store_u64 = storer(types.uint64, 8)
store_i64 = storer(types.int64, 8)
store_i32 = storer(types.int32, 4)
