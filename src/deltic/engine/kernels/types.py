"""The types of kernels' parameters. Scalars are 64 bits wide; within a compiled kernel they are numba's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Integers inside compiled code mix Python's, int64 and uint64, which type checkers keep apart and numba does not.
Int = Any
U64 = Any

Words1 = npt.NDArray[np.uint64]
Words2 = npt.NDArray[np.uint64]
# Rows that Python passes need not be contiguous.
Rows = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Table = npt.NDArray[np.int64]
Times = npt.NDArray[np.int32]
Weights = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
