"""A directory of state in an object store.

A file is an object, whole or absent. Files do not grow; each record of the log is one object. Manifests and records,
which must not be written twice, are only put if no object has their name. So a writer that others consider dead
cannot change what they continue from. Files are read in blocks, on demand.
"""

from __future__ import annotations

from collections.abc import Iterable

from deltic.engine.files.blocks import Blocks
from deltic.engine.files.files import Appender, Buffer, Files, OpenedFile
from deltic.engine.files.lease import Lease
from deltic.engine.files.object_store import ABSENT, ObjectStore, object_store
from deltic.engine.files.traffic import Traffic
from deltic.errors import DelticError, StateError


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
