"""A directory of state in an object store.

A file is an object, whole or absent. Files do not grow; each record of the log is one object. Manifests and records,
which must not be written twice, are only put if no object has their name. So a writer that others consider dead
cannot change what they continue from. Files are read in blocks, on demand: these are cached in a file on this machine's
disk, which has no name, and vanishes with the process. Objects are immutable, so blocks are cached by path and version.
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

from deltic.engine.files.files import Appender, Buffer, Bytes, Files, OpenedFile, Traffic
from deltic.engine.files.lease import Lease
from deltic.engine.files.object_store import ABSENT, ObjectStore, object_store
from deltic.errors import DelticError, StateError

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


class RemoteFiles:
    """The files below `root` in an object store."""

    appends = False
    keeps_removed = False

    def __init__(self, store: ObjectStore, root: str, place: str = "") -> None:
        self.store, self.root, self.place = store, root.rstrip("/"), (place or root).rstrip("/")
        self.traffic = Traffic()
        self._lease: Lease | None = None

    @classmethod
    def at(cls, place: str) -> RemoteFiles:
        """Return the files at an address such as `s3://bucket/folder`. Raises StateError."""
        try:
            return cls(*object_store(place), place)
        except DelticError as error:
            raise StateError(f"state {error}") from error

    def path(self, name: str) -> str:
        """Return the path of a file in the store."""
        return "/".join(part for part in (self.root, name) if part)

    def names(self, folder: str = "") -> list[str]:
        result = self.store.names(self.path(folder))
        return [f"{folder}/{name}" if folder else name for name in result]

    def size(self, name: str) -> int:
        return self.store.head(self.path(name))[0]

    def read(self, name: str) -> bytes:
        data = bytes(self.store.get(self.path(name))[0])
        self.traffic.fetched += len(data)
        return data

    def open(self, name: str) -> OpenedFile:
        return Blocks(self.store, self.path(name), self.traffic)

    def write(self, name: str, parts: Iterable[Buffer]) -> int:
        data = b"".join(parts)
        self.store.put(self.path(name), data)
        self.traffic.written += len(data)
        return len(data)

    def create(self, name: str, parts: Iterable[Buffer]) -> None:
        data = b"".join(parts)
        try:
            self.store.put(self.path(name), data, expected=ABSENT)
        except FileExistsError:
            if self.read(name) != data:  # an attempt whose answer was lost has written it
                raise
        self.traffic.written += len(data)

    def adopt(self, other: Files, name: str, new: str) -> None:
        if not isinstance(other, RemoteFiles) or other.store is not self.store:
            self.write(new, [other.read(name)])
        elif not self._is_there(new):
            self.store.copy(other.path(name), self.path(new))

    def _is_there(self, name: str) -> bool:
        try:
            self.size(name)
        except FileNotFoundError:
            return False
        return True

    def appender(self, name: str) -> Appender:
        raise StateError(f"state {self.place}: {name} cannot grow there")

    def truncate(self, name: str, size: int) -> None:
        data = self.read(name)[:size]
        self.write(name, [data]) if data else self.remove(name)

    def remove(self, *names: str) -> None:
        if names:
            self.store.delete([self.path(name) for name in names])

    def passing(self) -> RemoteFiles:
        return self

    def below(self, folder: str) -> RemoteFiles:
        return RemoteFiles(self.store, self.path(folder), f"{self.place}/{folder}")

    def clear(self) -> None:
        try:
            self.store.clear(self.root)
        except OSError:
            return

    @property
    def took_over(self) -> bool:
        return self._lease is not None and self._lease.took_over

    @property
    def writer(self) -> str:
        return "" if self._lease is None else self._lease.writer

    def lock(self) -> None:
        self._lease = Lease.acquired(self.store, self.path("lock"), self.place)

    def hold(self, name: str) -> None:
        """Do nothing: the lease is held."""

    def check_held(self, surely: bool = False) -> None:
        if self._lease is not None:
            self._lease.check(surely)

    def note(self, text: str) -> None:
        """Do nothing: it would take another put for each record."""

    def settle(self) -> None:
        if self._lease is not None:
            self._lease.took_over = False

    def unlock(self) -> None:
        if self._lease is not None:
            self._lease.release()
            self._lease = None
