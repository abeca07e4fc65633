"""Cached files that take long to make: machine code of kernels, and tables of grammars.

Loading them executes code, so a file is read only where nobody else can write, and made again otherwise.
"""

from __future__ import annotations

import logging
import os
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path

from deltic.errors import DelticError
from deltic.trusted import UntrustedError, check_directory, read_trusted

_LOG = logging.getLogger("deltic")
_DIGEST = sha256().digest_size


def directory() -> Path:
    """DELTIC_CACHE_DIR, or else the user's directory for caches, or one for temporary files.

    The first of the two that this user, and nobody else, can write. Raises DelticError for none.
    """
    chosen = os.environ.get("DELTIC_CACHE_DIR")
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = [Path(chosen)] if chosen else [Path(user, "deltic"), Path(tempfile.gettempdir(), f"deltic-{os.getuid()}")]
    reasons = []
    for place in places:
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            real = check_directory(place)
        except (OSError, UntrustedError) as error:
            reasons.append(str(error))
            continue
        if not os.access(real, os.W_OK):
            reasons.append(f"{real} cannot be written")
            continue
        for reason in reasons:
            warn(f"caches are kept in {real}: {reason}")
        return real
    raise DelticError(
        "no directory can be written to keep compiled kernels in, by this user alone; "
        f"name one by DELTIC_CACHE_DIR: {'; '.join(reasons)}"
    )


def read(path: Path) -> bytes | None:
    """Return the contents of a cached file; None where it is absent or damaged, or others may write it."""
    try:
        content = read_trusted(path)
    except FileNotFoundError:
        return None
    except (OSError, UntrustedError) as error:
        warn(f"a cached file is made again: {error}")
        return None
    return content[_DIGEST:] if sha256(content[_DIGEST:]).digest() == content[:_DIGEST] else None


def write(path: Path, content: bytes) -> None:
    """Write a cached file, so that `read` finds damage. Raises OSError."""
    place(path, sha256(content).digest() + content)


def place(path: Path, content: bytes) -> None:
    """Write a file and rename it into place once it is complete. Raises OSError."""
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.rename(unfinished, path)


@cache
def warn(text: str) -> None:
    """Log a warning, once."""
    _LOG.warning("%s", text)
