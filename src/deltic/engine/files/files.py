"""The interface of a directory of state: files are written whole and durably, read in parts; only the log grows."""

from __future__ import annotations

import json
import mmap
import os
import socket
import time
from collections.abc import Iterable
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_PAGE = mmap.PAGESIZE
# Linux has eight bytes for each page of a process; the highest bit says that the page is present.
_PAGES = "/proc/self/pagemap"
_ENTRY, _THERE = 8, np.uint64(63)


class Traffic:
    """Bytes `written`, and `fetched` by reading; `read` also has those of mapped files.

    Of a mapped file, only pages that are accessed are read, and some next to them: Linux reads 64 KiB to 2 MiB at a
    time, and reports which pages are present. The count has the bytes of the file's present pages, the last one up to
    the file's end. So it never exceeds the file's size, however small files are.
    """

    def __init__(self) -> None:
        self.written = self.fetched = 0
        self._mapped: WeakValueDictionary[int, Bytes] = WeakValueDictionary()

    def watched(self, data: Bytes) -> Bytes:
        """Watch a mapped file as long as it is referenced, and return it."""
        self._mapped[id(data)] = data
        return data

    @property
    def read(self) -> int:
        """The bytes that were fetched, and the present pages of mapped files, if the system reports them."""
        return self.fetched + sum(map(_touched, self._mapped.values()))


def _touched(data: Bytes) -> int:
    """Return the bytes of a mapped file's pages that are present in this process. The file starts at a page."""
    first, count = data.ctypes.data // _PAGE, -(-len(data) // _PAGE)
    try:
        file = os.open(_PAGES, os.O_RDONLY)
    except OSError:
        return 0
    try:
        entries = np.frombuffer(os.pread(file, _ENTRY * count, _ENTRY * first), np.uint64)
    finally:
        os.close(file)
    there = entries >> _THERE
    beyond = count * _PAGE - len(data) if len(there) == count and there[-1] else 0
    return int(np.count_nonzero(there)) * _PAGE - beyond


Buffer = Any
"""An object with the buffer protocol: bytes, memoryviews, contiguous arrays."""


class Appender(Protocol):
    """The end of a file that grows."""

    def append(self, data: bytes) -> None:
        """Append, and return when the data are on the disk. After an OSError the file is as before.

        Raises StateError if the file cannot be restored to that, and at each later call.
        """

    def close(self) -> None:
        """Close the file."""


class OpenedFile(Protocol):
    """A file that is read in parts."""

    @property
    def size(self) -> int:
        """The size in bytes."""

    def part(self, start: int, end: int) -> Bytes:
        """Return the bytes [start, end), as far as they exist. Changes to them stay in this process."""

    @property
    def is_far(self) -> bool:
        """Return whether bytes must be fetched before they can be read."""

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetch these ranges of bytes at once."""


class Files(Protocol):
    """Files by name. A name may have one folder: `log/0001`."""

    place: str
    """The address, for messages."""
    appends: bool
    """Whether files can grow."""
    keeps_removed: bool
    """Whether an open file can be read after it was removed."""
    traffic: Traffic
    """The bytes written to and read from the files through this object."""

    @property
    def writer(self) -> str:
        """The identity of this holder of the lock; empty if a lock cannot be lost."""

    @property
    def took_over(self) -> bool:
        """Return whether the lock was taken from a process that may not know that it lost it, until `settle`."""

    def names(self, folder: str = "") -> list[str]:
        """Return the sorted names of the files in a folder; none if it does not exist."""

    def size(self, name: str) -> int:
        """Return the size of a file, in bytes."""

    def read(self, name: str) -> bytes:
        """Return the content of a file."""

    def open(self, name: str) -> OpenedFile:
        """Open a file to read parts. A file on this machine is memory-mapped, and exists as long as it is open."""

    def write(self, name: str, parts: Iterable[Buffer]) -> int:
        """Write a whole file durably, and return its size. After an exception there is no file of that name."""

    def create(self, name: str, parts: Iterable[Buffer]) -> None:
        """Write like `write`, but raise FileExistsError if the file exists.

        Of several processes that create it at once, one succeeds, by a conditional put or by `lock`. After another
        OSError the file may still appear.
        """

    def adopt(self, other: Files, name: str, new: str) -> None:
        """Take a file of another place under a new name, durably: by a link or by a copy within the store, if possible.

        An existing file of the new name is assumed to be the same.
        """

    def appender(self, name: str) -> Appender:
        """Return the appender of a file, which is created if necessary."""

    def truncate(self, name: str, size: int) -> None:
        """Truncate a file to its first bytes."""

    def remove(self, *names: str) -> None:
        """Remove files, as far as they exist."""

    def below(self, folder: str) -> Files:
        """Return the files of a folder, which may be new."""

    def passing(self) -> Files:
        """Return the same files, written without sync: their content is not needed after a crash of the machine."""

    def clear(self) -> None:
        """Remove all files, as far as possible."""

    def lock(self) -> None:
        """Lock out other writers. StateError if there is one."""

    def settle(self) -> None:
        """Record that the previous holder of the lock can no longer change anything."""

    def hold(self, name: str) -> None:
        """Also lock a file in the directory, which must exist for writes. StateError as for `lock`.

        So removing the lock lets no other writer in. Files without locks of their own ignore this.
        """

    def check_held(self, surely: bool = False) -> None:
        """Raise StateError if the directory is no longer locked: the held file is gone, or another process has the
        lock.

        A lease is trusted for some seconds after its last renewal; `surely` renews it first.
        """

    def note(self, text: str) -> None:
        """Write a text of at most a few hundred bytes to the held file, without waiting for the disk."""

    def unlock(self) -> None:
        """Unlock for other writers."""


ONE_WRITER = (
    "one process writes at a time. Wait for it or end it. To read meanwhile: deltic serve --follow, "
    "in Python Durability(readonly=True)"
)


def myself() -> dict[str, Any]:
    """Return what a lock records about its holder."""
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}


def holder(said: str) -> str:
    """Describe the holder of a lock, from the lock's content."""
    try:
        who = json.loads(said)
        return f"process {who['pid']} on {who['host']} has it open for writing since {who['since']}"
    except (ValueError, KeyError):
        return "another process has it open for writing"
