"""Where large arrays are: in memory up to a limit, then in files that are mapped into it.

The system writes to the directory what does not fit, and reads it back when a search comes by. The files have no names
and go with their arrays, or with the process. What an epoch needs on its way comes from here too: sums of derivations
and merged runs are such arrays, and what is larger than a piece is sorted in pieces, which are merged.
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

# Bytes from which on an array counts, and is worth a file.
_LARGE = 1 << 20
# Rows that are sorted at a time where memory is short.
_PIECE = 1 << 20
# Bytes that sorting takes for each row, about.
_SORTED = 64


class Space:
    """Arrays of one engine: `held` bytes of large ones are in memory, at most `limit`; without a directory all are."""

    def __init__(self, directory: Path | None, limit: int) -> None:
        self.directory, self.limit = directory, limit
        self._held = 0
        self._lock = threading.Lock()
        self._released: deque[int] = deque()
        self._was_large = False

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Element]) -> np.ndarray[Any, np.dtype[Element]]:
        """A new array, its elements undefined; raises DelticError when the directory cannot take it."""
        size = math.prod(shape) * dtype.itemsize
        if self.directory is None or size < _LARGE:
            return np.empty(shape, dtype)
        self._was_large = True
        if not self._has_room(size):
            return self._mapped(shape, dtype, size)
        return self._held_as_long_as(np.empty(shape, dtype))

    def kept(self, array: npt.NDArray[Element]) -> npt.NDArray[Element]:
        """An array of others as one of this space: itself where it fits into memory, else a copy in a file."""
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
        """Give back to the system what was freed, if there were large arrays since the last time and it is short."""
        if self._was_large:
            self._was_large = False
            if anonymous() > self.limit:
                release()

    def fits(self, size: int) -> bool:
        """Whether there is memory for so many more bytes."""
        return self.directory is None or self.held + size <= self.limit

    def _has_room(self, size: int) -> bool:
        """Whether so many bytes fit into memory, which are held then."""
        with self._lock:
            fits = self._settled() + size <= self.limit
            self._held += size * fits
            return fits

    @property
    def held(self) -> int:
        """The bytes of large arrays in memory."""
        with self._lock:
            return self._settled()

    def _settled(self) -> int:
        """The bytes held, without those that were released; any thread may release at any time."""
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
    """Let new arrays be of this space, in the block and in the threads that it starts."""
    token = _current.set(space)
    try:
        yield
    finally:
        _current.reset(token)


def empty(shape: tuple[int, ...], dtype: np.dtype[Element]) -> np.ndarray[Any, np.dtype[Element]]:
    """A new array of the present space, its elements undefined."""
    return _current.get().empty(shape, dtype)


def anonymous() -> int:
    """The bytes of memory that this process has and no file stands for; 0 where the system does not tell."""
    try:
        _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    except OSError:
        return 0
    return (resident - shared) * mmap.PAGESIZE


def release() -> None:
    """Let the allocators of C and of Arrow give back to the system what they hold for later."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def kept(array: npt.NDArray[Element]) -> npt.NDArray[Element]:
    """The array, in the present space: a copy where it is large and memory is short."""
    return _current.get().kept(array)


def pieces(count: int) -> list[slice]:
    """The parts in which so many rows are to be sorted: all at once where memory is not short."""
    if count <= _PIECE or _current.get().fits(count * _SORTED):
        return [slice(0, count)]
    return [slice(start, min(start + _PIECE, count)) for start in range(0, count, _PIECE)]


def concatenate(parts: list[npt.NDArray[Element]], axis: int = 0) -> npt.NDArray[Element]:
    """The arrays one after the other along `axis`."""
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return np.concatenate(parts, axis=axis, out=empty(tuple(shape), parts[0].dtype))
