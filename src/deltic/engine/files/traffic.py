"""How many bytes go to files and come from them, through one handle of a directory.

Of a file that is mapped only those pages are read that somebody looks at, and some beside them: Linux brings them
64 KiB to 2 MiB at a time, and reports which have come, not which were read. So what counts are the bytes of the file
that came, the last page as far as the file goes: never more than there are, however small the files.
"""

from __future__ import annotations

import mmap
import os
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_PAGE = mmap.PAGESIZE
# Linux has eight bytes for each page of a process; the highest bit says that the page is there.
_PAGES = "/proc/self/pagemap"
_ENTRY, _THERE = 8, np.uint64(63)


class Traffic:
    """Bytes `written`, and `fetched` by reading; `read` has those of mapped files with them."""

    def __init__(self) -> None:
        self.written = self.fetched = 0
        self._mapped: WeakValueDictionary[int, Bytes] = WeakValueDictionary()

    def watched(self, data: Bytes) -> Bytes:
        """A file that was mapped, to be watched as long as somebody has it."""
        self._mapped[id(data)] = data
        return data

    @property
    def read(self) -> int:
        """The bytes that were fetched, and the pages of mapped files that have come, where the system tells."""
        return self.fetched + sum(map(_touched, self._mapped.values()))


def _touched(data: Bytes) -> int:
    """The bytes of a mapped file, which begins with a page, whose pages have come to this process."""
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
