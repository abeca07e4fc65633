"""The demonstration's edits of the standard library, in the pattern of [ELA §5.2].

After the initial evaluation come six small edits with deletions and insertions in turn, a large one, four
small ones and a large one. Every edit is one of source text, made when its turn comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from deltic.demo.edits import add_import, remove_function, remove_import
from deltic.demo.tree import Edit, Tree
from deltic.errors import DelticError

TextEdit = Callable[[bytes, str], bytes]


def standard_library_edits(tree: Tree) -> Iterator[Edit]:
    """The twelve edits, each made from the tree as the ones before have left it."""
    steps = EditRunner(tree)
    yield steps.remove_function("tomllib._parser", "parse_value")
    yield steps.add_import("re", "json")
    yield steps.remove_import("_threading_local", "threading")
    yield steps.put_back("_threading_local", "import threading in _threading_local")
    yield steps.remove_import("re", "json")
    yield steps.put_back("tomllib._parser", "function parse_value of tomllib._parser")
    yield steps.remove_package("email")
    yield steps.remove_function("dataclasses", "_process_class")
    yield steps.add_import("weakref", "logging")
    yield steps.remove_function("urllib.parse", "urlsplit")
    yield steps.put_back("dataclasses", "function _process_class of dataclasses")
    yield steps.put_back_package("email")


class EditRunner:
    """Makes edits of a tree, and remembers what was there before."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._original: dict[str, bytes] = {}

    def remove_function(self, module: str, name: str) -> Edit:
        return self._edit(f"remove function {name} of {module}", module, remove_function, name)

    def add_import(self, module: str, imported: str) -> Edit:
        return self._edit(f"add import {imported} to {module}", module, add_import, imported)

    def remove_import(self, module: str, imported: str) -> Edit:
        return self._edit(f"remove import {imported} from {module}", module, remove_import, imported)

    def put_back(self, module: str, what: str) -> Edit:
        path = self._path(module)
        return Edit(f"put back {what}", {path: self._original[path]})

    def remove_package(self, package: str) -> Edit:
        paths = [path for path, name in self._tree.modules.items() if f"{name}.".startswith(f"{package}.")]
        if not paths:
            raise DelticError(f"this interpreter's standard library has no package {package}")
        self._original |= {path: self._tree.source(path).text for path in paths}
        self._removed = paths
        return Edit(f"remove package {package} ({len(paths)} files)", dict.fromkeys(paths))

    def put_back_package(self, package: str) -> Edit:
        files = {path: self._original[path] for path in self._removed}
        return Edit(f"put back package {package} ({len(files)} files)", files)

    def _edit(self, words: str, module: str, edit: TextEdit, what: str) -> Edit:
        path = self._path(module)
        text = self._tree.source(path).text
        self._original.setdefault(path, text)
        return Edit(words, {path: edit(text, what)})

    def _path(self, module: str) -> str:
        path = self._tree.path_of(module)
        if path is None:
            raise DelticError(f"this interpreter's standard library has no module {module}")
        return path
