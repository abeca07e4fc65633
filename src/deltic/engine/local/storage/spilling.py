"""Where the arrays of merged runs are: in memory or, large ones, in files that are mapped into it.

With the environment variable DELTIC_STATE_DIR, state may exceed memory: the system writes to that directory what does
not fit, and reads it back when a search comes by. The files have no names and go with their runs, or with the process.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Element = TypeVar("Element", bound=np.generic)

# Bytes from which on an array is worth a file.
_LARGE = 1 << 24


def empty(shape: tuple[int, ...], dtype: np.dtype[Element]) -> np.ndarray[Any, np.dtype[Element]]:
    """A new array, its elements undefined; raises OSError when the directory cannot take it."""
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE or not (directory := os.environ.get("DELTIC_STATE_DIR", "")):
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(dir=directory) as file:
        os.posix_fallocate(file.fileno(), 0, size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), dtype).reshape(shape)


def concatenate(parts: list[npt.NDArray[Element]], axis: int = 0) -> npt.NDArray[Element]:
    """The arrays one after the other along `axis`."""
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return np.concatenate(parts, axis=axis, out=empty(tuple(shape), parts[0].dtype))
