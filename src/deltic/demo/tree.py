"""The present tree of source files, and the changes of the tables by an edit of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from deltic.demo.extract import Fact, SourceFile, facts_of


@dataclass(frozen=True)
class Edit:
    """An edit in words, and the new contents of the files it touches: None where the file is gone."""

    words: str
    files: Mapping[str, bytes | None]


@dataclass(frozen=True)
class TreeChange:
    """What an edit does: all facts, now, of each module that changed, came or went; and facts that went and came."""

    facts: Mapping[str, Set[Fact]]
    deleted: Set[Fact]
    inserted: Set[Fact]


class Tree:
    """Files by path: contents, or where on disk they are.

    A file's facts depend on its text and on its module name, and the name on which other files exist
    (`__init__.py` makes a package): so an edit may also rename modules whose text it does not touch.
    """

    def __init__(self, files: Mapping[str, bytes] | Mapping[str, Path]) -> None:
        self._contents: dict[str, bytes | Path] = {**files}
        self.modules: Mapping[str, str] = module_names(files)
        """The module name of each path."""

    def path_of(self, module: str) -> str | None:
        """Return the path of a module, None when there is none of the name."""
        return next((path for path, name in self.modules.items() if name == module), None)

    def contents(self, path: str) -> bytes | Path:
        """Return the text of the file at a path, or where on disk it is; KeyError when there is no such file."""
        return self._contents[path]

    def source(self, path: str) -> SourceFile:
        """Return the file at a path, with its text and module name; KeyError when there is none."""
        contents = self._contents[path]
        text = contents.read_bytes() if isinstance(contents, Path) else contents
        return SourceFile(path, self.modules[path], text)

    def apply(self, edit: Edit) -> TreeChange:
        """Makes the edit; what it changes is found by parsing the files involved, before and after."""
        contents = {path: text for path, text in {**self._contents, **edit.files}.items() if text is not None}
        same_files = contents.keys() == self._contents.keys()
        modules = self.modules if same_files else module_names(contents)
        renamed = {path for path, name in self.modules.items() if modules.get(path, name) != name}
        touched = renamed | edit.files.keys()
        old = self._facts(touched)
        self._contents, self.modules = contents, modules
        new = self._facts(touched)
        were, are = (set().union(*facts.values()) for facts in (old, new))
        return TreeChange({**dict.fromkeys(old, frozenset[Fact]()), **new}, were - are, are - were)

    def _facts(self, paths: Iterable[str]) -> dict[str, set[Fact]]:
        """Return the facts, by module, of those of the paths that exist."""
        sources = [self.source(path) for path in paths if path in self._contents]
        return {source.module: facts_of(source) for source in sources}


def module_names(files: Iterable[str]) -> dict[str, str]:
    """Return the module name of each path (relative, with slashes), every name given once.

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
