"""Lexical scopes of Python: which names a module, class or function binds, found without running it.

Only modules, classes and functions are scopes here. What a lambda or a comprehension binds counts as bound
by the scope around it, which differs from Python only where the same name also means something else there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Binding(IntEnum):
    """How a scope binds a name. The greatest wins where a scope does it in several ways."""

    VARIABLE = 1  # a parameter, or assigned a value that only running the code would tell
    RECEIVER = 2  # `self` or `cls`: the first parameter of a method
    STATIC = 3  # imported, defined by `def` or `class`, or another name for something dotted


@dataclass
class Scope:
    """A module, class or function: its key, the scope around it, and the names that it binds."""

    entity: str
    parent: Scope | None
    is_class: bool
    names: dict[str, Binding]
    receiver_class: str = ""
    globals: set[str] = field(default_factory=set)

    @property
    def module(self) -> str:
        """The name of the module that holds this scope."""
        return self.entity.partition(":")[0]

    def child(self, name: str) -> str:
        """The key of what this scope defines under `name`: `module:Class.method`."""
        return f"{self.entity}{'.' if ':' in self.entity else ':'}{name}"

    def lookup(self, name: str) -> tuple[Scope, Binding] | None:
        """The scope that binds `name` where this scope mentions it, and how; None when no scope does."""
        scope: Scope | None = self
        if name in self.globals:
            scope = self.outermost()
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope, scope.names[name]
            scope = scope.parent
        return None

    def outermost(self) -> Scope:
        """The module's scope."""
        return self if self.parent is None else self.parent.outermost()


def dotted_path(node: ast.expr) -> list[str] | None:
    """The parts of `a.b.c`; None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return parts[::-1]


def module_scope(module: str, tree: ast.Module) -> Scope:
    """The scope of a whole file."""
    names, _ = _bound_names(tree.body)
    return Scope(module, None, is_class=False, names=names)


def class_scope(node: ast.ClassDef, parent: Scope) -> Scope:
    """The scope of a class body."""
    names, declared_global = _bound_names(node.body)
    return Scope(parent.child(node.name), parent, is_class=True, names=names, globals=declared_global)


def function_scope(node: FunctionNode, parent: Scope) -> Scope:
    """The scope of a function body, its parameters included."""
    names, declared_global = _bound_names(node.body)
    for name in _parameter_names(node.args):
        names.setdefault(name, Binding.VARIABLE)
    scope = Scope(parent.child(node.name), parent, is_class=False, names=names, globals=declared_global)
    receiver = _receiver(node) if parent.is_class else None
    if receiver is not None and names[receiver] is Binding.VARIABLE:
        names[receiver] = Binding.RECEIVER
        scope.receiver_class = parent.entity
    return scope


def _receiver(node: FunctionNode) -> str | None:
    """The name of a method's first parameter; None for a static method or one without parameters."""
    if any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list):
        return None
    positional = node.args.posonlyargs + node.args.args
    return positional[0].arg if positional else None


def _parameter_names(args: ast.arguments) -> Iterator[str]:
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None:
            yield arg.arg


def _bound_names(body: Iterable[ast.stmt]) -> tuple[dict[str, Binding], set[str]]:
    """The names that the statements bind in their own scope, and the names declared global."""
    names: dict[str, Binding] = {}
    elsewhere: set[str] = set()
    declared_global: set[str] = set()
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            elsewhere.update(node.names)
            if isinstance(node, ast.Global):
                declared_global.update(node.names)
        for name, binding in _bindings_of(node):
            names[name] = max(binding, names.get(name, binding))
        pending.extend(_same_scope_children(node))
    for name in elsewhere:
        names.pop(name, None)
    return names, declared_global


def _bindings_of(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    """The names that one node binds by itself."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            yield name, Binding.VARIABLE
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, Binding.STATIC
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name.partition(".")[0], Binding.STATIC
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if dotted_path(value) is not None:
            yield name, Binding.STATIC
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name, Binding.VARIABLE
        case ast.MatchMapping(rest=str(name)):
            yield name, Binding.VARIABLE
        case ast.Lambda(args=args):
            for name in _parameter_names(args):
                yield name, Binding.VARIABLE


def _same_scope_children(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node that bind names in the node's own scope: not the bodies of other scopes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (*node.decorator_list, *node.args.defaults)
    elif isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases)
    else:
        yield from ast.iter_child_nodes(node)
