"""A directory of state on a file system of fsspec: an object store, a distributed file system.

A file is put whole, and one that was put in part has the wrong checksum, so that nothing has to be renamed: a manifest
like that is not the newest one that is whole. Files do not grow there; each record of the log is one. What is used
is read into memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from deltic.errors import StateError
from deltic.pipeline.durable.files import Appender, Buffer, Bytes, holder, myself


class RemoteFiles:
    """The files below `root` on a file system of fsspec."""

    appends = False

    def __init__(self, system: Any, root: str, place: str = "") -> None:
        self.system, self.root, self.place = system, root.rstrip("/"), place or root
        self._is_locked = False

    @classmethod
    def at(cls, place: str) -> RemoteFiles:
        """The files at an address such as `s3://bucket/folder`; raises StateError."""
        try:
            url_to_fs = import_module("fsspec.core").url_to_fs
        except ImportError:
            told = f"state {place}: other places than directories need the package fsspec; install it, and the one "
            raise StateError(f"{told}for {place.partition('://')[0]}") from None
        try:
            system, root = url_to_fs(place)
            return cls(system, root, place)
        except (ImportError, ValueError) as error:
            raise StateError(f"state {place}: {error}") from error

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def names(self, folder: str = "") -> list[str]:
        path = self._path(folder)
        try:
            found = self.system.ls(path, detail=False, refresh=True)
        except FileNotFoundError:
            return []
        last = sorted(name.rstrip("/").rpartition("/")[2] for name in found if name.rstrip("/") != path)
        return [f"{folder}/{name}" if folder else name for name in last]

    def size(self, name: str) -> int:
        return int(self.system.info(self._path(name))["size"])

    def read(self, name: str) -> bytes:
        return bytes(self.system.cat_file(self._path(name)))

    def map(self, name: str) -> Bytes:
        return np.frombuffer(bytearray(self.read(name)), np.uint8)

    def write(self, name: str, parts: Iterable[Buffer]) -> int:
        data = b"".join(parts)
        self.system.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
        self.system.pipe_file(self._path(name), data)
        return len(data)

    def appender(self, name: str) -> Appender:
        raise StateError(f"state {self.place}: {name} cannot grow there")

    def truncate(self, name: str, size: int) -> None:
        data = self.read(name)[:size]
        self.system.pipe_file(self._path(name), data) if data else self.remove(name)

    def remove(self, name: str) -> None:
        if self.system.exists(self._path(name)):
            self.system.rm_file(self._path(name))

    def lock(self) -> None:
        """Say in a file who writes: a crash leaves it behind, and the message says what to do about that."""
        if "lock" in self.names():
            told = holder(self.read("lock").decode(errors="replace"))
            raise StateError(
                f"state {self.place}: {told}; one process writes at a time. Wait for it, or open the state with "
                f"readonly=True. If that process is no more, remove {self._path('lock')}"
            )
        self.write("lock", [json.dumps(myself()).encode()])
        self._is_locked = True

    def unlock(self) -> None:
        if self._is_locked:
            self.remove("lock")
            self._is_locked = False
