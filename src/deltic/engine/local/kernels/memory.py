"""Reading arrays by their addresses, so that one kernel serves any number of runs.

An address is `array.ctypes.data`; the caller keeps the array alive for the duration of the call.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _loader(element: Any, width: int) -> Any:
    """An intrinsic that loads element `index` of a contiguous array at `address`."""

    def load(typingctx: Any, address: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], context.get_value_type(element).as_pointer())
            return builder.load(builder.gep(pointer, [args[1]]), align=width)

        return element(types.int64, types.int64), codegen

    return intrinsic(load)


load_u64 = _loader(types.uint64, 8)
load_i64 = _loader(types.int64, 8)
load_i32 = _loader(types.int32, 4)
