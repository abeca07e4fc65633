"""Where large arrays are: in memory up to a limit, then in files that are mapped into it.

The system writes to the directory what does not fit, and reads it back when a search comes by. The files have no names
and go with their arrays, or with the process. What an epoch needs on its way comes from here too: sums of derivations
and merged runs are such arrays, and what is larger than a piece is sorted in pieces, which are merged.
"""

from __future__ import annotations

import contextvars
import math
import mmap
import os
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
# Rows that are sorted at a time where memory is limited.
_PIECE = 1 << 20


class Space:
    """Arrays of one engine: `held` bytes of large ones are in memory, at most `limit`; without a directory all are."""

    def __init__(self, directory: Path | None, limit: int) -> None:
        self.directory, self.limit = directory, limit
        self._held = 0
        self._lock = threading.Lock()
        self._released: deque[int] = deque()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Element]) -> np.ndarray[Any, np.dtype[Element]]:
        """A new array, its elements undefined; raises DelticError when the directory cannot take it."""
        size = math.prod(shape) * dtype.itemsize
        if self.directory is None or size < _LARGE:
            return np.empty(shape, dtype)
        if not self._has_room(size):
            return self._mapped(shape, dtype, size)
        array = np.empty(shape, dtype)
        weakref.finalize(array, self._released.append, size)
        return array

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
        """The bytes held, without those that were released, which any thread tells in the midst of anything."""
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
                "nothing of the epoch was applied"
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


def kept(array: npt.NDArray[Element]) -> npt.NDArray[Element]:
    """The array, in the present space: a copy where memory is limited and it is large."""
    if _current.get().directory is None or array.nbytes < _LARGE:
        return array
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def pieces(count: int) -> list[slice]:
    """The parts in which so many rows are to be sorted: all at once where memory is not limited."""
    if _current.get().directory is None or count <= _PIECE:
        return [slice(0, count)]
    return [slice(start, min(start + _PIECE, count)) for start in range(0, count, _PIECE)]


def concatenate(parts: list[npt.NDArray[Element]], axis: int = 0) -> npt.NDArray[Element]:
    """The arrays one after the other along `axis`."""
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return np.concatenate(parts, axis=axis, out=empty(tuple(shape), parts[0].dtype))
