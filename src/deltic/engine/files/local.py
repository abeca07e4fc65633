"""Files on a local disk.

A file has its name only once all of it is on the disk: it is written under another name, synced and renamed, and then
the directory is synced. Only their owner can access new files and folders, whatever the umask. All calls that change
the disk go through one `SystemCalls`, so that tests can make it fail.
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deltic.engine.files.files import ONE_WRITER, Buffer, Bytes, Files, OpenedFile, Traffic, holder, myself
from deltic.errors import StateError

_PART = ".part"
"""The suffix of a file that is being written."""
_PRIVATE = 0o600
"""The mode of a new file: only its owner reads and writes it."""


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can enter. An existing one stays as it is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


class SystemCalls:
    """The system calls that change a disk."""

    def write(self, file: int, data: Buffer) -> int:
        return os.write(file, data)

    def sync(self, file: int) -> None:
        os.fsync(file)

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)

    def truncate(self, file: int, size: int) -> None:
        os.ftruncate(file, size)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)


class UnsyncedCalls(SystemCalls):
    """System calls without those that wait for the disk."""

    def __init__(self, system: SystemCalls) -> None:
        self._system = system

    def write(self, file: int, data: Buffer) -> int:
        return self._system.write(file, data)

    def sync(self, file: int) -> None:
        pass

    def rename(self, old: Path, new: Path) -> None:
        self._system.rename(old, new)

    def unlink(self, path: Path) -> None:
        self._system.unlink(path)


class LocalFiles:
    """A directory on a local disk."""

    appends = True
    keeps_removed = True
    writer, took_over = "", False

    def __init__(self, root: Path, system: SystemCalls | None = None) -> None:
        self.root, self.place, self.system, self.traffic = root, str(root), system or SystemCalls(), Traffic()
        if root.exists() and not root.is_dir():
            raise StateError(f"state {root}: it is a file, and a state is a directory; name another place")
        self._lock: int | None = None
        self._held: tuple[Path, int] | None = None

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            make_private(self.root)
            make_private(folder)

    def names(self, folder: str = "") -> list[str]:
        path = self.root / folder
        return sorted(f"{folder}/{p.name}" if folder else p.name for p in path.iterdir()) if path.is_dir() else []

    def size(self, name: str) -> int:
        return (self.root / name).stat().st_size

    def read(self, name: str) -> bytes:
        data = (self.root / name).read_bytes()
        self.traffic.fetched += len(data)
        return data

    def open(self, name: str) -> OpenedFile:
        with (self.root / name).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return InMemory(np.empty(0, np.uint8))
            data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
            return InMemory(self.traffic.watched(data))

    def write(self, name: str, parts: Iterable[Buffer]) -> int:
        path = self.root / name
        self._make(path.parent)
        part = path.with_name(path.name + _PART)
        try:
            file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
            try:
                size = sum(self._write_all(file, data) for data in parts)
                self.system.sync(file)
            finally:
                os.close(file)
            self.system.rename(part, path)
            self.sync(path.parent)
        except BaseException:
            self.system.unlink(part)
            self.system.unlink(path)
            raise
        self.traffic.written += size
        return size

    def create(self, name: str, parts: Iterable[Buffer]) -> None:
        if (self.root / name).exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self.root / name))
        self.write(name, parts)

    def adopt(self, other: Files, name: str, new: str) -> None:
        path = self.root / new
        if path.exists():
            return
        self._make(path.parent)
        if isinstance(other, LocalFiles):
            try:
                os.link(other.root / name, path)
                self.sync(path)
                self.sync(path.parent)
                return
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
        self.write(new, [other.read(name)])

    def _write_all(self, file: int, data: Buffer) -> int:
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view):
            done += self.system.write(file, view[done:])
        return len(view)

    def sync(self, path: Path) -> None:
        """Sync a file, or the names in a folder."""
        file = os.open(path, os.O_RDONLY)
        try:
            self.system.sync(file)
        finally:
            os.close(file)

    def appender(self, name: str) -> LocalAppender:
        path = self.root / name
        self._make(path.parent)
        is_new = not path.exists()
        appender = LocalAppender(path, self.system)
        if is_new:
            self.sync(path.parent)
        return appender

    def truncate(self, name: str, size: int) -> None:
        file = os.open(self.root / name, os.O_WRONLY)
        try:
            self.system.truncate(file, size)
            self.system.sync(file)
        finally:
            os.close(file)

    def remove(self, *names: str) -> None:
        for name in names:
            self.system.unlink(self.root / name)

    def below(self, folder: str) -> LocalFiles:
        return LocalFiles(self.root / folder, self.system)

    def passing(self) -> LocalFiles:
        same = LocalFiles(self.root, UnsyncedCalls(self.system))
        same.traffic = self.traffic
        return same

    def clear(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def lock(self) -> None:
        self._lock = self._locked("lock")
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, json.dumps(myself()).encode(), 0)

    def settle(self) -> None:
        """Do nothing: a lock ends with its process."""

    def hold(self, name: str) -> None:
        self._held = self.root / name, self._locked(name)

    def _locked(self, name: str) -> int:
        """Open and lock a file. The lock belongs to the open file, and ends with this process."""
        file = os.open(self.root / name, os.O_RDWR | os.O_CREAT, _PRIVATE)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            said = os.pread(file, 4096, 0).decode(errors="replace")
            os.close(file)
            raise StateError(f"state {self.place}: {holder(said)}; {ONE_WRITER}") from None
        return file

    def check_held(self, surely: bool = False) -> None:
        if self._held is not None and not _is_at(*self._held):
            raise StateError(
                f"state {self.place}: {self._held[0].name} was removed or replaced while this process had it open, so "
                "that another may write there; nothing was changed. Put the directory back, and open it again"
            )

    def note(self, text: str) -> None:
        if self._held is not None:
            os.pwrite(self._held[1], text.encode(), 0)

    def unlock(self) -> None:
        if self._held is not None:
            os.close(self._held[1])
            self._held = None
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None


def _is_at(path: Path, file: int) -> bool:
    """Return whether an open file is the one with this name."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except OSError:
        return False


@dataclass(frozen=True)
class InMemory:
    """A file that is mapped into memory, or read."""

    data: Bytes

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def is_far(self) -> bool:
        return False

    def part(self, start: int, end: int) -> Bytes:
        return self.data[start:end]

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Do nothing: all of it is in memory."""


# The errors of a file system without links, or of a link to another file system.
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


class LocalAppender:
    """The end of a file on a local disk."""

    def __init__(self, path: Path, system: SystemCalls) -> None:
        self._path, self._system = path, system
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _PRIVATE)
        self._size = os.fstat(self._file).st_size
        self._failure: OSError | None = None

    def append(self, data: bytes) -> None:
        if self._failure is not None:
            raise StateError(
                f"{self._path}: the log is closed since writing to it failed ({self._failure.strerror}); "
                "see to the disk, and open the state again"
            )
        if not _is_at(self._path, self._file):
            raise StateError(
                f"{self._path}: the log was removed or replaced under its writer; nothing was changed. Put the "
                "directory back as it was, and open the state again"
            )
        try:
            done = 0
            while done < len(data):
                done += self._system.write(self._file, memoryview(data)[done:])
            self._system.sync(self._file)
        except OSError as error:
            self._take_back(error)
            raise
        self._size += len(data)

    def _take_back(self, error: OSError) -> None:
        """Cut off a partly written record. If that fails, nothing is appended any more."""
        try:
            self._system.truncate(self._file, self._size)
            self._system.sync(self._file)
        except OSError:
            self._failure = error

    def close(self) -> None:
        os.close(self._file)
