"""Counts the bytes that are written to and read from files, through one handle of a directory.

Of a mapped file, only pages that are accessed are read, and some next to them: Linux reads 64 KiB to 2 MiB at a time,
and reports which pages are present. The count has the bytes of the file's present pages, the last one up to the
file's end. So it never exceeds the file's size, however small files are.
"""

from __future__ import annotations

import mmap
import os
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_PAGE = mmap.PAGESIZE
# Linux has eight bytes for each page of a process; the highest bit says that the page is present.
_PAGES = "/proc/self/pagemap"
_ENTRY, _THERE = 8, np.uint64(63)


class Traffic:
    """Bytes `written`, and `fetched` by reading; `read` also has those of mapped files."""

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
