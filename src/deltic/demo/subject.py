"""The subject of the demonstration: a tree of Python files and edits of it, such as the history of a repository."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from deltic.demo.scenario import standard_library_edits
from deltic.demo.tree import Edit, Tree
from deltic.errors import DelticError

NOT_LIBRARY = frozenset({"site-packages", "dist-packages", "__pycache__"})


REGULAR_FILES = ("100644", "100755")
"""Git's modes of files with contents: neither symbolic links nor submodules."""


@dataclass(frozen=True)
class Repository:
    """A git repository; every method raises DelticError with git's own words when git refuses."""

    path: Path

    def commits(self, limit: int) -> list[str]:
        """Return the last commits of the first-parent history of HEAD, at most `limit` and oldest first."""
        output = self._git("rev-list", "--first-parent", f"--max-count={limit}", "HEAD")
        return output.decode().split()[::-1]

    def subject(self, commit: str) -> str:
        """Return the short hash and the first line of the message."""
        output = self._git("log", "-1", "--no-show-signature", "--format=%h %s", commit)
        return output.decode("utf-8", "replace").strip()

    def python_blobs(self, commit: str) -> dict[str, str]:
        """Return the hashes of the contents of the commit's Python files by path."""
        blobs: dict[str, str] = {}
        for entry in _fields(self._git("ls-tree", "-r", "-z", "--full-tree", commit)):
            meta, _, path = entry.partition("\t")
            mode, _, blob = meta.split()
            if path.endswith(".py") and mode in REGULAR_FILES:
                blobs[path] = blob
        return blobs

    def python_files(self, commit: str) -> dict[str, bytes]:
        """Return the contents of the commit's Python files by path."""
        return self._contents(self.python_blobs(commit))

    def edit(self, parent: str, commit: str) -> Edit:
        """Return what the commit does to the Python files of its first parent; a rename is a removal and a new file."""
        fields = _fields(self._git("diff-tree", "-r", "-z", "--raw", "--no-renames", parent, commit))
        blobs: dict[str, str] = {}
        files: dict[str, bytes | None] = {}
        for meta, path in zip(fields[::2], fields[1::2], strict=True):
            old_mode, mode, _, blob, _ = meta.removeprefix(":").split()
            if not path.endswith(".py"):
                continue
            if mode in REGULAR_FILES:
                blobs[path] = blob
            elif old_mode in REGULAR_FILES:
                files[path] = None
        return Edit(self.subject(commit), {**files, **self._contents(blobs)})

    def edits(self, commits: Iterable[str]) -> Iterator[Edit]:
        """Return the edits from each commit to the next."""
        return (self.edit(parent, commit) for parent, commit in pairwise(commits))

    def _contents(self, blobs: Mapping[str, str]) -> dict[str, bytes]:
        """Return the contents of the blobs, in one conversation with git."""
        if not blobs:
            return {}
        stream = self._git("cat-file", "--batch", stdin="\n".join(blobs.values()).encode() + b"\n")
        contents: dict[str, bytes] = {}
        start = 0
        for path, blob in blobs.items():
            end = stream.index(b"\n", start)
            header = stream[start:end].split()
            if header[-1] == b"missing":
                raise DelticError(f"{self.path}: git has no contents for {path} ({blob}); is the clone complete?")
            size = int(header[-1])
            contents[path] = stream[end + 1 : end + 1 + size]
            start = end + 1 + size + 1
        return contents

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        command = ["git", "-C", str(self.path), *arguments]
        try:
            done = subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False)
        except FileNotFoundError as failure:
            raise DelticError("--repo needs git, and there is no `git` on the PATH.") from failure
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
            raise DelticError(f"{self.path}: {reason[0]}")
        return done.stdout


def _fields(output: bytes) -> list[str]:
    """Return the fields of output made with `-z`; a path that is not UTF-8 is shown with escapes."""
    return [field.decode("utf-8", "backslashreplace") for field in output.split(b"\0")[:-1]]


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
