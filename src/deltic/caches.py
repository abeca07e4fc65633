"""Where Deltic keeps between processes what takes long to make: machine code, and the tables of grammars."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def directory() -> Path:
    """DELTIC_CACHE_DIR, or else the user's directory for caches, or one for temporary files.

    The first of them that this user, and nobody else, can write; what is in it is trusted. Raises OSError for none.
    """
    chosen = os.environ.get("DELTIC_CACHE_DIR")
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = [Path(chosen)] if chosen else [Path(user, "deltic"), Path(tempfile.gettempdir(), f"deltic-{os.getuid()}")]
    for place in places:
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK) and place.stat().st_uid == os.getuid():
            return place
    raise OSError(f"no directory can be written to keep compiled kernels in: {', '.join(map(str, places))}")
