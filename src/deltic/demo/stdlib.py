"""The sources of the running interpreter's standard library, its tests included."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

NOT_LIBRARY = frozenset({"site-packages", "dist-packages", "__pycache__"})


def stdlib_root() -> Path:
    """The folder of the standard library."""
    return Path(sysconfig.get_paths()["stdlib"])


def python_files(root: Path) -> list[str]:
    """The paths of all Python files relative to the root, sorted; installed packages are left out, and so are
    folders whose name no import statement could contain."""
    result: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f.isidentifier() and f not in NOT_LIBRARY]
        relative = Path(folder).relative_to(root)
        result += [(relative / name).as_posix() for name in names if name.endswith(".py")]
    return sorted(result)
