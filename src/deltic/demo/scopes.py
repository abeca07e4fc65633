"""Lexical scopes of Python: the names that a module, class or function binds, found without running it.

Only modules, classes and functions are scopes here. Names bound by a lambda, a comprehension or `:=` count as bound in
the scope around it from there on, which differs from Python only if the same name means something else in that scope.
So expressions need not be searched for them beforehand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class NameBinding(IntEnum):
    """How a scope binds a name. The greatest wins where a scope does it in several ways."""

    VARIABLE = 1  # a parameter, or assigned a value that only running the code would tell
    RECEIVER = 2  # `self` or `cls`: the first parameter of a method
    STATIC = 3  # imported, defined by `def` or `class`, or another name for something dotted


@dataclass
class PythonScope:
    """A module, class or function: its key, the scope around it, and the names that it binds."""

    entity: str
    parent: PythonScope | None
    is_class: bool
    names: dict[str, NameBinding]
    receiver_class: str = ""
    globals: set[str] = field(default_factory=set)

    @property
    def runner(self) -> str:
        """The module or function that executes the code of this scope: a class body runs with what is around it."""
        return self.parent.runner if self.is_class and self.parent is not None else self.entity

    def child(self, name: str) -> str:
        """Return the key of what this scope defines under `name`: `module:Class.method`."""
        return f"{self.entity}{'.' if ':' in self.entity else ':'}{name}"

    def bind_variable(self, name: str) -> None:
        """Adds a variable that an expression binds."""
        self.names.setdefault(name, NameBinding.VARIABLE)

    def lookup(self, name: str) -> tuple[PythonScope, NameBinding] | None:
        """Return the scope that binds `name` where this scope mentions it, and how; None when no scope does."""
        scope: PythonScope | None = self
        if name in self.globals:
            scope = self.outermost()
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope, scope.names[name]
            scope = scope.parent
        return None

    def outermost(self) -> PythonScope:
        """Return the module's scope."""
        return self if self.parent is None else self.parent.outermost()


def dotted_path(node: ast.expr) -> list[str] | None:
    """Return the parts of `a.b.c`; None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return parts[::-1]


def module_scope(module: str, tree: ast.Module) -> PythonScope:
    """Return the scope of a whole file."""
    names, _ = _bound_names(tree.body)
    return PythonScope(module, None, is_class=False, names=names)


def inner_scope(node: ast.ClassDef | FunctionNode, parent: PythonScope) -> PythonScope:
    """Return the scope of a class body, or of a function body with its parameters."""
    names, declared_global = _bound_names(node.body)
    scope = PythonScope(parent.child(node.name), parent, isinstance(node, ast.ClassDef), names, globals=declared_global)
    if isinstance(node, FunctionNode):
        for name in parameter_names(node.args):
            names.setdefault(name, NameBinding.VARIABLE)
        receiver = _receiver(node) if parent.is_class else None
        if receiver is not None and names[receiver] is NameBinding.VARIABLE:
            names[receiver] = NameBinding.RECEIVER
            scope.receiver_class = parent.entity
    return scope


def _receiver(node: FunctionNode) -> str | None:
    """Return the name of a method's first parameter; None for a static method or one without parameters."""
    if any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list):
        return None
    positional = node.args.posonlyargs + node.args.args
    return positional[0].arg if positional else None


def parameter_names(args: ast.arguments) -> Iterator[str]:
    """Yield all parameters of a function or lambda."""
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None:
            yield arg.arg


def target_names(target: ast.AST) -> Iterator[str]:
    """Yield the names that an assignment to `target` binds, or a match with this pattern."""
    for node in ast.walk(target):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yield name


def _bound_names(body: Iterable[ast.stmt]) -> tuple[dict[str, NameBinding], set[str]]:
    """Return the names that the statements bind in their own scope, and the names declared global."""
    names: dict[str, NameBinding] = {}
    elsewhere: set[str] = set()
    declared_global: set[str] = set()
    for node in _same_scope(body):
        if isinstance(node, ast.Global | ast.Nonlocal):
            elsewhere.update(node.names)
            if isinstance(node, ast.Global):
                declared_global.update(node.names)
        for name, binding in _bindings_of(node):
            names[name] = max(binding, names.get(name, binding))
    for name in elsewhere:
        names.pop(name, None)
    return names, declared_global


def _same_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the statements, exception handlers and match cases that are not inside another scope."""
    for node in body:
        yield node
        if not isinstance(node, FunctionNode | ast.ClassDef):
            for block in ("body", "orelse", "handlers", "finalbody", "cases"):
                yield from _same_scope(getattr(node, block, ()))


def _bindings_of(node: ast.AST) -> Iterator[tuple[str, NameBinding]]:
    """Yield the names that one statement, handler or case binds by itself."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, NameBinding.STATIC
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name.partition(".")[0], NameBinding.STATIC
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if dotted_path(value) is not None:
            yield name, NameBinding.STATIC
        case ast.ExceptHandler(name=str(name)):
            yield name, NameBinding.VARIABLE
        case _:
            for target in _targets(node):
                for name in target_names(target):
                    yield name, NameBinding.VARIABLE


def _targets(node: ast.AST) -> Sequence[ast.AST]:
    match node:
        case ast.Assign(targets=targets):
            return targets
        case ast.AugAssign() | ast.AnnAssign() | ast.For() | ast.AsyncFor():
            return [node.target]
        case ast.match_case(pattern=pattern):
            return [pattern]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.optional_vars for item in items if item.optional_vars]
    return ()
