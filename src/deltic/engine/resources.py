"""The machine's resources for an engine: threads, memory, and a directory for data that exceed the memory."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deltic.engine.files.address import local_path
from deltic.errors import DelticError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class ResourceLimits:
    """Threads for large changes; a directory, and the bytes of memory beyond which large arrays are files in it."""

    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    spill: Path | None = None
    memory: int = 0

    @classmethod
    def of(
        cls,
        threads: int | None = None,
        spill: str | Path | None = None,
        memory: int | str | None = None,
        state: str | Path | None = None,
        moves: bool = False,
    ) -> ResourceLimits:
        """Return the resources as a user names them. DelticError for invalid ones.

        `memory` is a number of bytes or a text such as "2 GiB" or "500 MB". The default is half of the free memory plus
        what the process has. Without a directory to `spill` to, that of the `state` is used if it is on the local disk.
        If the state `moves` out of memory, there may be no directory.
        """
        if threads is not None and threads < 1:
            raise DelticError(f"threads is {threads}; it is a number of threads: 1 or more")
        count = threads or os.cpu_count() or 1
        directory = _of_state(state) if spill is None else _writable(Path(spill))
        if directory is None:
            if memory is not None and not moves:
                raise DelticError(
                    f"memory is {memory!r}, but what does not fit has no place: name a directory with spill"
                )
            return cls(count, memory=bytes_of(memory or 0))
        return cls(count, directory, bytes_of(memory) if memory is not None else available() // 2)


def bytes_of(size: int | str, what: str = "memory") -> int:
    """Return the number of bytes that a text such as "2 GiB" names. DelticError, which names `what` it is for."""
    result = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", str(size), re.IGNORECASE)
    unit = _UNITS.get(result[2].lower()) if result else None
    if result is None or unit is None:
        raise DelticError(f'{what} is {size!r}; it is a number of bytes, or a text such as "2 GiB" or "500 MB"')
    return int(float(result[1]) * unit)


def available() -> int:
    """Return the bytes of memory that this process may still take: those of the machine, or of its control group if
    less.
    """
    return max(memory_limit() - memory_held(), 0)


def memory_limit() -> int:
    """Return the bytes of memory of the machine, or of this process's control group if less."""
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_group_limits()])


def memory_held() -> int:
    """Return the bytes of memory of this process; 0 if the system does not report it."""
    try:
        file = os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return 0
    try:
        return os.sysconf("SC_PAGE_SIZE") * int(os.read(file, 128).split()[1])
    finally:
        os.close(file)


def _group_limits(root: Path = Path("/")) -> Iterator[int]:
    """Yield the memory limits of this process's control groups, of either version of the interface."""
    try:
        groups = [line.split(":", 2) for line in (root / "proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return
    named = {controllers: path for _, controllers, path in groups}
    for controllers, folder, limit in (("", "", "memory.max"), ("memory", "memory", "memory.limit_in_bytes")):
        top = root / "sys/fs/cgroup" / folder
        place = top / named.get(controllers, "/").lstrip("/")
        for group in (place, *(above for above in place.parents if above.is_relative_to(top))):
            try:
                yield int((group / limit).read_text())
            except (OSError, ValueError):
                continue


def _of_state(state: str | Path | None) -> Path | None:
    """Return the directory of a state if it is on the local disk and writable. It may not exist yet."""
    path = None if state is None else local_path(state)
    if path is None:
        return None
    return path if os.access(path, os.W_OK) or not path.exists() else None


def _writable(directory: Path) -> Path:
    """Return the directory if files can be created in it. Raises DelticError."""
    if not directory.is_dir():
        raise DelticError(f"spill directory {directory}: there is no such directory; make it, or name another")
    try:
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError as error:
        raise DelticError(f"spill directory {directory}: no file can be made in it ({error.strerror})") from None
