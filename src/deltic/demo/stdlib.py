"""The sources of the running interpreter's standard library."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

NOT_LIBRARY = frozenset({"site-packages", "dist-packages", "__pycache__"})
TEST_DIRECTORIES = frozenset({"test", "tests", "idle_test"})


def stdlib_root() -> Path:
    """The folder of the standard library."""
    return Path(sysconfig.get_paths()["stdlib"])


def stdlib_files(root: Path) -> list[str]:
    """The paths of the library's Python files relative to its root, sorted; its tests are left out."""
    files: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in NOT_LIBRARY | TEST_DIRECTORIES and f.isidentifier()]
        relative = Path(folder).relative_to(root)
        files += [(relative / name).as_posix() for name in names if name.endswith(".py")]
    return sorted(files)
