"""Edits of Python source text, as a programmer would make them: whole lines go, or come.

Each returns the new text; the syntax tree only says which lines. Line ends and encodings stay as they are.
"""

from __future__ import annotations

import ast

from deltic.demo.extract import parse
from deltic.demo.scopes import FunctionNode
from deltic.errors import DelticError


def remove_function(text: bytes, qualified_name: str) -> bytes:
    """The text without the function or method `name` or `Class.name`, its decorators included."""
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
    """The text with `import module` before its first statement that is no docstring or `__future__` import."""
    body = parse(text).body
    following = next((s for s in body if not _comes_first(s)), None)
    line = following.lineno if following is not None else text.count(b"\n") + 1
    return _replace_lines(text, line, line - 1, f"import {module}\n".encode())


def remove_import(text: bytes, module: str) -> bytes:
    """The text without `module` in its module-level `import` statements and without `from module import`."""
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
    """What is left of an import statement without `module`; None when it does not import it."""
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
    """The text with lines `first` to `last`, counted from 1 and both included, replaced by whole lines."""
    lines = text.splitlines(keepends=True)
    return b"".join([*lines[: first - 1], replacement, *lines[last:]])
