"""The demonstration's edits of the standard library, in the pattern of [ELA §5.2].

After the initial evaluation come six small edits with deletions and insertions in turn, a large one, four
small ones and a large one. Every edit is one of source text, made when its turn comes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from deltic.demo.extract import parse
from deltic.demo.scopes import FunctionNode
from deltic.demo.tree import Edit, Tree
from deltic.errors import DelticError


def standard_library_edits(tree: Tree) -> Iterator[Edit]:
    """Yield the twelve edits, each made from the tree as the ones before have left it."""
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
    """Makes edits of a tree, and remembers the former text."""

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

    def _edit(self, words: str, module: str, edit: Callable[[bytes, str], bytes], what: str) -> Edit:
        path = self._path(module)
        text = self._tree.source(path).text
        self._original.setdefault(path, text)
        return Edit(words, {path: edit(text, what)})

    def _path(self, module: str) -> str:
        path = self._tree.path_of(module)
        if path is None:
            raise DelticError(f"this interpreter's standard library has no module {module}")
        return path


# Edits of source text, as a programmer would make them: whole lines go, or come. Each returns the new text; the syntax
# tree only says which lines. Line ends and encodings stay as they are.


def remove_function(text: bytes, qualified_name: str) -> bytes:
    """Return the text without the function or method `name` or `Class.name`, its decorators included."""
    *classes, name = qualified_name.split(".")
    body = parse(text).body
    for owner in classes:
        body = next((s.body for s in body if isinstance(s, ast.ClassDef) and s.name == owner), [])
    node = next((s for s in body if isinstance(s, FunctionNode) and s.name == name), None)
    if node is None:
        raise DelticError(f"there is no function {qualified_name} to remove")
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    stays = b"" if len(body) > 1 else b" " * node.col_offset + b"pass\n"
    return _replace_lines(text, first, node.end_lineno or first, stays)


def add_import(text: bytes, module: str) -> bytes:
    """Return the text with `import module` before its first statement that is no docstring or `__future__` import."""
    body = parse(text).body
    following = next((s for s in body if not _comes_first(s)), None)
    line = following.lineno if following is not None else text.count(b"\n") + 1
    return _replace_lines(text, line, line - 1, f"import {module}\n".encode())


def remove_import(text: bytes, module: str) -> bytes:
    """Return the text without `module` in its module-level `import` statements and without `from module import`."""
    result = False
    for statement in reversed(parse(text).body):
        kept = _without_module(statement, module)
        if kept is not None:
            result = True
            text = _replace_lines(text, statement.lineno, statement.end_lineno or statement.lineno, kept)
    if not result:
        raise DelticError(f"there is no import of {module} to remove")
    return text


def _without_module(statement: ast.stmt, module: str) -> bytes | None:
    """Return what is left of an import statement without `module`; None when it does not import it."""
    match statement:
        case ast.ImportFrom(module=source, level=0) if source == module:
            return b""
        case ast.Import(names=aliases) if any(alias.name == module for alias in aliases):
            others = [alias for alias in aliases if alias.name != module]
            return f"{ast.unparse(ast.Import(others))}\n".encode() if others else b""
        case _:
            return None


def _comes_first(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom(module="__future__"):
            return True
        case _:
            return False


def _replace_lines(text: bytes, first: int, last: int, replacement: bytes) -> bytes:
    """Return the text with lines `first` to `last`, counted from 1 and both included, replaced by whole lines."""
    lines = text.splitlines(keepends=True)
    return b"".join([*lines[: first - 1], replacement, *lines[last:]])
