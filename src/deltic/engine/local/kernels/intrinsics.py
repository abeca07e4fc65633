"""What numba makes of an `Access` to memory, and how compiled code tells contiguous arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit, types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from deltic.engine.local.kernels.declaring import Access

# What only compiled code calls, and what only Python does: without numba's wrappers for other callers.
inner: Any = partial(njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)
outer: Any = partial(njit, nogil=True, no_cfunc_wrapper=True)


def accesses(access: Access) -> Any:
    """The function of compiled code."""
    return _MAKERS[access.kind](getattr(types, access.element))


def _load(element: Any) -> Any:
    def load(typingctx: Any, address: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], context.get_value_type(element).as_pointer())
            return builder.load(builder.gep(pointer, [args[1]]), align=element.bitwidth // 8)

        return element(types.int64, types.int64), codegen

    return intrinsic(load)


def _store(element: Any) -> Any:
    def store(typingctx: Any, address: Any, index: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], context.get_value_type(element).as_pointer())
            builder.store(args[2], builder.gep(pointer, [args[1]]), align=element.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, element), codegen

    return intrinsic(store)


def _pointer(element: Any) -> Any:
    def pointer(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(element).as_pointer())

        return types.CPointer(element)(types.int64), codegen

    return intrinsic(pointer)


def _vector(element: Any) -> Any:
    pointer = _pointer(element)

    def vector(address: Any, count: Any) -> Any:
        return carray(pointer(address), (count,))

    return inner()(vector)


def _table(element: Any) -> Any:
    pointer = _pointer(element)

    def table(address: Any, rows: Any, columns: Any) -> Any:
        return carray(pointer(address), (rows, columns))

    return inner()(table)


_MAKERS: dict[str, Callable[[Any], Any]] = {"load": _load, "store": _store, "vector": _vector, "table": _table}


def is_contiguous(array: Any) -> Any:
    """Whether the elements follow each other, the last dimension's fastest."""
    size = array.itemsize
    for k in range(array.ndim - 1, -1, -1):
        if array.shape[k] > 1 and array.strides[k] != size:
            return array.size == 0
        size *= array.shape[k]
    return True
