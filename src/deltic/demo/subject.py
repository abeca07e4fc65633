"""The subject of the demonstration: a tree of Python files and a sequence of edits of it."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deltic.demo.history import Repository
from deltic.demo.scenario import standard_library_edits
from deltic.demo.tree import Edit, Tree
from deltic.errors import DelticError

NOT_LIBRARY = frozenset({"site-packages", "dist-packages", "__pycache__"})


@dataclass(frozen=True)
class Subject:
    """A tree before the first edit, the edits in order, and how many they are."""

    name: str
    tree: Tree
    edits: Iterator[Edit]
    count: int


def standard_library() -> Subject:
    """Return the running interpreter's standard library, and the edits of `scenario.py`."""
    root = stdlib_root()
    tree = Tree({file: root / file for file in python_files(root)})
    if not tree.modules:
        raise DelticError(f"there are no Python files in {root}; this interpreter keeps its library elsewhere.")
    return Subject("Python's standard library", tree, standard_library_edits(tree), 12)


def history(repository: Path, commits: int) -> Subject:
    """Return a repository's last commits, each an edit of the tree of the commit before the first of them.

    Raises DelticError when it is no repository, or has no commit to start from and one to follow.
    """
    git = Repository(repository)
    hashes = git.commits(commits + 1)
    if len(hashes) < 2:
        raise DelticError(f"{repository}: the history is one commit long, and a demonstration of changes needs two.")
    if not git.python_blobs(hashes[-1]):
        raise DelticError(f"{repository}: there are no Python files in its last commit.")
    tree = Tree(git.python_files(hashes[0]))
    return Subject(f"the history of {repository.resolve().name}", tree, git.edits(hashes), len(hashes) - 1)


def stdlib_root() -> Path:
    """Return the folder of the standard library."""
    return Path(sysconfig.get_paths()["stdlib"])


def python_files(root: Path) -> list[str]:
    """Return the paths of all Python files relative to the root, sorted; installed packages are left out, and so are
    folders whose name no import statement could contain.
    """
    result: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f.isidentifier() and f not in NOT_LIBRARY]
        relative = Path(folder).relative_to(root)
        result += [(relative / name).as_posix() for name in names if name.endswith(".py")]
    return sorted(result)
