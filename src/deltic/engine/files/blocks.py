"""Files of object stores that are read in parts: the requested blocks are cached in a file on this machine's disk.

The file has no name, and vanishes with the process. Objects are immutable, so blocks are cached by path and version.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from deltic.engine.files.object_store import ObjectStore
from deltic.engine.files.traffic import Bytes, Traffic

BLOCK = 1 << 18
"""The least number of bytes that are read at once."""
# The total size of the files whose blocks this process keeps in its cache.
_KEPT = 1 << 30


class Blocks:
    """A file whose requested blocks are read once each. Its size is requested at first use."""

    def __init__(self, store: ObjectStore, path: str, traffic: Traffic) -> None:
        self._store, self._path, self._traffic = store, path, traffic

    @property
    def size(self) -> int:
        return self._cached.size

    @property
    def is_far(self) -> bool:
        return True

    def part(self, start: int, end: int) -> Bytes:
        self.fetch([(start, end)])
        return self._cached.part(start, end)

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._traffic.fetched += self._cached.fetch(ranges)

    @cached_property
    def _cached(self) -> _Cached:
        size, version = self._store.head(self._path)
        return _RECENT.of((id(self._store), self._path, str(version)), lambda: _Cached(self._store, self._path, size))


class _Cached:
    """The cached blocks of a file, in a sparse file without a name."""

    def __init__(self, store: ObjectStore, path: str, size: int) -> None:
        self._store, self._path, self.size = store, path, size
        self._there = np.zeros(math.ceil(size / BLOCK), np.bool_)
        self._lock = threading.Lock()
        with tempfile.TemporaryFile() as file:
            os.truncate(file.fileno(), size)
            self._data: Bytes = np.frombuffer(mmap.mmap(file.fileno(), size) if size else b"", np.uint8)

    def part(self, start: int, end: int) -> Bytes:
        return self._data[start : min(end, self.size)]

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> int:
        """Read the blocks of these ranges that are not there, those that follow each other as one: how many bytes."""
        with self._lock:
            wanted = np.zeros_like(self._there)
            for start, end in ranges:
                wanted[start // BLOCK : math.ceil(end / BLOCK)] = True
            missing = np.flatnonzero(wanted & ~self._there)
            if not len(missing):
                return 0
            cut = np.flatnonzero(np.diff(missing) > 1) + 1
            lows = [int(blocks[0]) * BLOCK for blocks in np.split(missing, cut)]
            highs = [min((int(blocks[-1]) + 1) * BLOCK, self.size) for blocks in np.split(missing, cut)]
            result = self._store.ranges(self._path, lows, highs)
            for low, high, data in zip(lows, highs, result, strict=True):
                if len(data) != high - low:
                    message = f"it has {len(data):,} of {high - low:,} bytes from {low:,} on"
                    raise OSError(errno.EIO, message, self._path)
                self._data[low:high] = np.frombuffer(data, np.uint8)
            self._there[missing] = True
            return sum(highs) - sum(lows)


class _Recent:
    """The recently read files, so that the next task of this process finds their blocks."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._files: OrderedDict[object, _Cached] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: object, made: Callable[[], _Cached]) -> _Cached:
        """Return the file with this key, which identifies its content."""
        with self._lock:
            result = self._files.pop(key, None) or made()
            self._files[key] = result
            while len(self._files) > 1 and sum(file.size for file in self._files.values()) > self._limit:
                self._files.popitem(last=False)
            return result


_RECENT = _Recent(_KEPT)
