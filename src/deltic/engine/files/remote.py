"""A directory of state on a file system of fsspec: an object store, a distributed file system.

A file is put whole, and one that was put in part has the wrong checksum, so that nothing has to be renamed: a manifest
like that is not the newest one that is whole. Files do not grow there; each record of the log is one. Of a file that
is read in parts come the blocks that are asked for, which are kept in a file without a name on this machine's disk.
"""

from __future__ import annotations

import errno
import json
import math
import mmap
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from deltic.engine.files.files import Appender, Buffer, Files, OpenedFile, holder, myself
from deltic.engine.files.traffic import Bytes, Traffic
from deltic.errors import DelticError, StateError
from deltic.extras import required
from deltic.passwords import cause, redacted, redacted_reason

BLOCK = 1 << 18
"""The bytes that are read at once, at least."""
# The bytes of the files of which this process keeps the blocks that it has read lately.
_KEPT = 1 << 30


class RemoteFiles:
    """The files below `root` on a file system of fsspec."""

    appends = False
    keeps_removed = False

    def __init__(self, system: Any, root: str, place: str = "") -> None:
        self.system, self.root, self.place = system, root.rstrip("/"), (place or root).rstrip("/")
        self.traffic = Traffic()
        self._is_locked = False

    @classmethod
    def at(cls, place: str) -> RemoteFiles:
        """The files at an address such as `s3://bucket/folder`; raises StateError."""
        try:
            return cls(*file_system(place), place)
        except DelticError as error:
            raise StateError(f"state {error}") from error

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def names(self, folder: str = "") -> list[str]:
        path = self._path(folder)
        try:
            with os_errors(path):
                result = self.system.ls(path, detail=False, refresh=True)
        except FileNotFoundError:
            return []
        last = sorted(name.rstrip("/").rpartition("/")[2] for name in result if name.strip("/") != path.strip("/"))
        return [f"{folder}/{name}" if folder else name for name in last]

    def size(self, name: str) -> int:
        with os_errors(self._path(name)):
            return int(self.system.info(self._path(name))["size"])

    def read(self, name: str) -> bytes:
        with os_errors(self._path(name)):
            data = bytes(self.system.cat_file(self._path(name)))
        self.traffic.fetched += len(data)
        return data

    def open(self, name: str) -> OpenedFile:
        return Blocks(self.system, self._path(name), self.traffic)

    def write(self, name: str, parts: Iterable[Buffer]) -> int:
        data = b"".join(parts)
        with os_errors(self._path(name)):
            self._make_folder(name)
            self.system.pipe_file(self._path(name), data)
        self.traffic.written += len(data)
        return len(data)

    def create(self, name: str, parts: Iterable[Buffer]) -> None:
        path, data = self._path(name), b"".join(parts)
        with os_errors(path):
            self._make_folder(name)
            try:
                self.system.pipe_file(path, data, mode="create")
            except (TypeError, ValueError, NotImplementedError):
                if self.system.exists(path):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
                self.system.pipe_file(path, data)

    def _make_folder(self, name: str) -> None:
        self.system.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)

    def adopt(self, other: Files, name: str, new: str) -> None:
        if isinstance(other, RemoteFiles) and other.system is self.system:
            with os_errors(self._path(new)):
                if not self.system.exists(self._path(new)):
                    self._make_folder(new)
                    self.system.cp_file(other._path(name), self._path(new))
        else:
            self.write(new, [other.read(name)])

    def appender(self, name: str) -> Appender:
        raise StateError(f"state {self.place}: {name} cannot grow there")

    def truncate(self, name: str, size: int) -> None:
        data = self.read(name)[:size]
        self.write(name, [data]) if data else self.remove(name)

    def remove(self, name: str) -> None:
        with os_errors(self._path(name)):
            if self.system.exists(self._path(name)):
                self.system.rm_file(self._path(name))

    def passing(self) -> RemoteFiles:
        return self

    def below(self, folder: str) -> RemoteFiles:
        return RemoteFiles(self.system, self._path(folder), f"{self.place}/{folder}")

    def clear(self) -> None:
        try:
            with os_errors(self.root):
                self.system.rm(self.root, recursive=True)
        except OSError:
            return

    def lock(self) -> None:
        """Say in a file who writes: a crash leaves it behind, and the message says what to do about that."""
        try:
            self.create("lock", [json.dumps(myself()).encode()])
        except FileExistsError:
            told = holder(self.read("lock").decode(errors="replace"))
            raise StateError(
                f"state {self.place}: {told}; one process writes at a time. Wait for it, or open the state with "
                f"readonly=True. If that process is no more, remove {self._path('lock')}"
            ) from None
        self._is_locked = True

    def hold(self, name: str) -> None:
        """Nothing: a store of objects has no locks but by names."""

    def check_held(self) -> None:
        """Nothing is held."""

    def note(self, text: str) -> None:
        """Nothing is held."""

    def unlock(self) -> None:
        if self._is_locked:
            self.remove("lock")
            self._is_locked = False


def file_system(address: str) -> tuple[Any, str]:
    """The file system of an address such as `s3://bucket/folder`, and the path there; raises DelticError."""
    url_to_fs = required("fsspec.core", f"{address}: a place that is no directory of this machine").url_to_fs
    try:
        system, root = url_to_fs(address)
        return system, root
    except (ImportError, ValueError, OSError) as error:
        raise DelticError(f"{address}: {redacted_reason(str(error))}") from cause(error)


@contextmanager
def os_errors(path: str) -> Iterator[None]:
    """What the packages of file systems raise, as an OSError."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        told = redacted_reason(f"{type(error).__name__}: {error}")
        cause(error)
        raise OSError(errno.EIO, told, redacted(path)) from error


class Blocks:
    """A file of which those blocks are read that are asked for, each once; asked at first use for its size."""

    def __init__(self, system: Any, path: str, traffic: Traffic) -> None:
        self._system, self._path, self._traffic = system, path, traffic

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
        with os_errors(self._path):
            info = self._system.info(self._path)
        key = id(self._system), self._path, str(sorted(info.items(), key=str))
        return _RECENT.of(key, lambda: _Cached(self._system, self._path, int(info["size"])))


class _Cached:
    """The blocks of a file that were read, in a sparse file without a name."""

    def __init__(self, system: Any, path: str, size: int) -> None:
        self._system, self._path, self.size = system, path, size
        self._there = np.zeros(math.ceil(size / BLOCK), np.bool_)
        self._lock = threading.Lock()
        # fsspec opens a file of pyarrow, as of Hadoop, as a stream where it begins at 0, and then asks where it is.
        self._options = {"seekable": True} if type(system).__module__.endswith(".arrow") else {}
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
            with os_errors(self._path):
                result = self._system.cat_ranges(
                    [self._path] * len(lows), lows, highs, on_error="raise", **self._options
                )
            for low, high, data in zip(lows, highs, result, strict=True):
                if len(data) != high - low:
                    told = f"it has {len(data):,} of {high - low:,} bytes from {low:,} on"
                    raise OSError(errno.EIO, told, self._path)
                self._data[low:high] = np.frombuffer(data, np.uint8)
            self._there[missing] = True
            return sum(highs) - sum(lows)


class _Recent:
    """The files that were read lately, so that the next task of this process finds their blocks."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._files: OrderedDict[object, _Cached] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: object, made: Callable[[], _Cached]) -> _Cached:
        """The file with this key, which stands for its content."""
        with self._lock:
            result = self._files.pop(key, None) or made()
            self._files[key] = result
            while len(self._files) > 1 and sum(file.size for file in self._files.values()) > self._limit:
                self._files.popitem(last=False)
            return result


_RECENT = _Recent(_KEPT)
