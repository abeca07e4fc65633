"""Which files may be executed: machine code and pickles, which run when they are loaded.

A file is trusted where this user or the system alone can write it, and the same holds of each directory that leads to
it. Links are followed first, and the rule is applied to the directories in which the file really stands. Nobody else
can then replace what was checked; a file is checked by its open descriptor.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from deltic.errors import DelticError

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UntrustedError(DelticError):
    """Somebody else may write what would be executed."""


def check_directory(place: Path) -> Path:
    """Return the directory, without links. Raises UntrustedError where others may write it, or one above it;
    OSError.
    """
    real = place.resolve(strict=True)
    for directory in (real, *real.parents):
        status = directory.stat()
        # In a directory with a sticky bit, such as /tmp, others can neither rename nor remove what is not theirs.
        is_passed = directory != real and bool(status.st_mode & stat.S_ISVTX)
        _check(str(directory), status, is_passed)
    return real


def read_trusted(path: Path) -> bytes:
    """Return what a file of a checked directory holds. Raises UntrustedError where others may write it; OSError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        _check_file(path, os.fstat(file.fileno()))
        return file.read()


def check_file(path: Path) -> None:
    """Raise UntrustedError where others may write a file of a checked directory; OSError."""
    _check_file(path, os.lstat(path))


def _check_file(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UntrustedError(f"{path} is not a regular file")
    _check(str(path), status, False)


def _check(place: str, status: os.stat_result, is_passed: bool) -> None:
    """Raise UntrustedError where the owner or the mode lets others write."""
    # Who owns the root directory has the machine; in a container that may be another number than 0.
    if status.st_uid not in (os.geteuid(), 0, os.stat("/").st_uid):
        raise UntrustedError(f"{place} belongs to another user (uid {status.st_uid})")
    if status.st_mode & _OTHERS_WRITE and not is_passed:
        mode = stat.S_IMODE(status.st_mode)
        raise UntrustedError(f"others may write {place} (mode {mode:o}): chmod go-w {place}")
