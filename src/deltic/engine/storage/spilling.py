"""Memory for large arrays: up to a limit in memory, beyond it in memory-mapped files.

The system writes to the directory what does not fit, and reads it when a search accesses it. The files have no names,
and vanish with their arrays or with the process. Temporary arrays of an epoch, such as sums of derivations and merged
runs, come from here too. Batches that are larger than a piece are sorted in pieces, which are merged.
"""

from __future__ import annotations

import contextvars
import ctypes
import math
import mmap
import os
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from deltic.errors import DelticError

Element = TypeVar("Element", bound=np.generic)

# An array of at least this many bytes is counted, and may be in a file.
_LARGE = 1 << 20
# The number of rows to sort at a time if memory is short.
_PIECE = 1 << 20
# The memory of sorting, in bytes a row, roughly.
_SORTED = 64


class Space:
    """The arrays of one engine: at most `limit` bytes of large ones are in memory. Without a directory all are."""

    def __init__(self, directory: Path | None, limit: int) -> None:
        self.directory, self.limit = directory, limit
        self._held = 0
        self._lock = threading.Lock()
        self._released: deque[int] = deque()
        self._was_large = False

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Element]) -> np.ndarray[Any, np.dtype[Element]]:
        """Return a new array with undefined elements. DelticError if the directory has no room for it."""
        size = math.prod(shape) * dtype.itemsize
        if self.directory is None or size < _LARGE:
            return np.empty(shape, dtype)
        self._was_large = True
        if not self._has_room(size):
            return self._mapped(shape, dtype, size)
        return self._held_as_long_as(np.empty(shape, dtype))

    def kept(self, array: npt.NDArray[Element]) -> npt.NDArray[Element]:
        """Return an array of this space: the given one if it fits into memory, else a copy in a file."""
        if self.directory is None or array.nbytes < _LARGE:
            return array
        self._was_large = True
        if self._has_room(array.nbytes):
            return self._held_as_long_as(array)
        copy = self._mapped(array.shape, array.dtype, array.nbytes)
        copy[...] = array
        return copy

    def _held_as_long_as(self, array: npt.NDArray[Element]) -> npt.NDArray[Element]:
        weakref.finalize(array, self._released.append, array.nbytes)
        return array

    def settle(self) -> None:
        """Return freed memory to the system, if there were large arrays since the last call and memory is short."""
        if self._was_large:
            self._was_large = False
            if anonymous() > self.limit:
                release()

    def fits(self, size: int) -> bool:
        """Return whether there is memory for `size` more bytes."""
        return self.directory is None or self.held + size <= self.limit

    def _has_room(self, size: int) -> bool:
        """Reserve `size` bytes of memory if they fit, and return whether they do."""
        with self._lock:
            fits = self._settled() + size <= self.limit
            self._held += size * fits
            return fits

    @property
    def held(self) -> int:
        """Return the bytes of large arrays in memory."""
        with self._lock:
            return self._settled()

    def _settled(self) -> int:
        """Return the bytes in memory without those that were released. Any thread may release at any time."""
        while self._released:
            self._held -= self._released.popleft()
        return self._held

    def _mapped(
        self, shape: tuple[int, ...], dtype: np.dtype[Element], size: int
    ) -> np.ndarray[Any, np.dtype[Element]]:
        try:
            with tempfile.TemporaryFile(dir=self.directory) as file:
                os.posix_fallocate(file.fileno(), 0, size)
                return np.frombuffer(mmap.mmap(file.fileno(), size), dtype).reshape(shape)
        except OSError as error:
            raise DelticError(
                f"spill directory {self.directory}: {error.strerror or error}, while {size >> 20:,} MiB were wanted; "
                "nothing of the epoch was applied. Make room, or name a directory that has some with spill"
            ) from error


_MEMORY = Space(None, 0)
_current: contextvars.ContextVar[Space] = contextvars.ContextVar("space", default=_MEMORY)


@contextmanager
def using(space: Space) -> Iterator[None]:
    """Allocate new arrays in this space, within the block and in the threads that it starts."""
    token = _current.set(space)
    try:
        yield
    finally:
        _current.reset(token)


def empty(shape: tuple[int, ...], dtype: np.dtype[Element]) -> np.ndarray[Any, np.dtype[Element]]:
    """Return a new array of the present space with undefined elements."""
    return _current.get().empty(shape, dtype)


def anonymous() -> int:
    """Return the bytes of this process's memory that no file backs; 0 if the system does not report it."""
    try:
        _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    except OSError:
        return 0
    return (resident - shared) * mmap.PAGESIZE


def release() -> None:
    """Make the allocators of C and of Arrow return unused memory to the system."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def kept(array: npt.NDArray[Element]) -> npt.NDArray[Element]:
    """Return the array in the present space: a copy in a file if it is large and memory is short."""
    return _current.get().kept(array)


def pieces(count: int) -> list[slice]:
    """Return the slices in which to sort `count` rows: one slice if memory is not short."""
    if count <= _PIECE or _current.get().fits(count * _SORTED):
        return [slice(0, count)]
    return [slice(start, min(start + _PIECE, count)) for start in range(0, count, _PIECE)]


def concatenate(parts: list[npt.NDArray[Element]], axis: int = 0) -> npt.NDArray[Element]:
    """Return the concatenation of arrays along `axis`."""
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return np.concatenate(parts, axis=axis, out=empty(tuple(shape), parts[0].dtype))
