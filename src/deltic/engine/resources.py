"""What an engine may use of the machine: threads, memory, and a directory for what does not fit into that."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from deltic.errors import DelticError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class Resources:
    """Threads for large changes; a directory and the bytes of memory from which on large arrays are files in it."""

    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    spill: Path | None = None
    memory: int = 0

    @classmethod
    def of(
        cls, threads: int | None = None, spill: str | Path | None = None, memory: int | str | None = None
    ) -> Resources:
        """The resources as a user names them; raises DelticError for what cannot be.

        `memory` is a number of bytes or a text such as "2 GiB" or "500 MB"; without it, half of the machine's.
        """
        if threads is not None and threads < 1:
            raise DelticError(f"threads is {threads}; it is a number of threads: 1 or more")
        if spill is None and memory is not None:
            raise DelticError(f"memory is {memory!r}, but what does not fit has no place: name a directory with spill")
        count = threads or os.cpu_count() or 1
        if spill is None:
            return cls(count)
        return cls(count, _writable(Path(spill)), bytes_of(memory) if memory is not None else _physical() // 2)


def bytes_of(size: int | str) -> int:
    """The number of bytes that a text such as "2 GiB" names; raises DelticError."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", str(size), re.IGNORECASE)
    unit = _UNITS.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise DelticError(f'memory is {size!r}; it is a number of bytes, or a text such as "2 GiB" or "500 MB"')
    return int(float(found[1]) * unit)


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _writable(directory: Path) -> Path:
    """The directory, if files can be made in it."""
    if not directory.is_dir():
        raise DelticError(f"spill directory {directory}: there is no such directory; make it, or name another")
    try:
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError as error:
        raise DelticError(f"spill directory {directory}: no file can be made in it ({error.strerror})") from None
