"""Module names: the name by which Python would import each file of a tree."""

from __future__ import annotations

import re
from collections.abc import Iterable


def module_names(files: Iterable[str]) -> dict[str, str]:
    """The module name of each path (relative, with slashes), every name given once.

    Packages reach up as far as there are `__init__.py` files, so `src/` layouts and loose scripts need no
    configuration; namespace packages, which have none, end there. Where two files would be imported by the
    same name, a package comes before a module and a short path before a long one; the others are known by
    their path, which is no module's name.
    """
    paths = sorted(files, key=_precedence)
    directories = {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == "__init__.py"}
    taken: dict[str, str] = {}
    for path in paths:
        name = _dotted_name(path, directories)
        taken[name if name and name not in taken else path] = path
    return {path: name for name, path in taken.items()}


def _precedence(path: str) -> tuple[bool, int, str]:
    return not path.endswith("__init__.py"), path.count("/"), path


def _dotted_name(path: str, packages: set[str]) -> str:
    directory, _, file = path.rpartition("/")
    parts = [] if file == "__init__.py" else [file.removesuffix(".py")]
    while directory and directory in packages:
        directory, _, last = directory.rpartition("/")
        parts.append(last)
    return ".".join(re.sub(r"[.:]", "-", part) for part in reversed(parts))
