"""From a Python file to its facts: one walk over the syntax tree of Python's own parser.

A fact is a pair (relation, row) of an input relation of `program.dl`. Each row names its own module, or something in
it, so the facts of two files never coincide, and an edit changes the tables by the difference of two sets. All that one
file alone can tell is decided here: the absolute name behind a relative import, the scope that binds a name. The rules
of `program.dl` decide what a name means across files.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from deltic.demo.scopes import (
    FunctionNode,
    NameBinding,
    PythonScope,
    dotted_path,
    inner_scope,
    module_scope,
    parameter_names,
    target_names,
)

Row = tuple[str | int, ...]
Fact = tuple[str, Row]


@dataclass(frozen=True)
class SourceFile:
    """A Python file: its path relative to the root, the name it is imported by, and its bytes."""

    file: str
    module: str
    text: bytes

    @property
    def is_package(self) -> bool:
        """Whether the file is the body of a package: its submodules are found beside it."""
        return self.file.rpartition("/")[2] == "__init__.py"


BUILTINS = frozenset(dir(builtins))
PARSER_FAILURES = (SyntaxError, ValueError, RecursionError, MemoryError)


def facts_of(source: SourceFile) -> set[Fact]:
    """Return the facts of a file. One that Python cannot parse has a `broken` fact, and no others but its name."""
    facts: set[Fact] = {("module", (source.module, source.file))}
    package, dot, name = source.module.rpartition(".")
    if dot and "/" not in source.module:
        facts.add(("submodule", (package, name, source.module)))
    try:
        return facts | _Walk(source, parse(source.text)).facts
    except PARSER_FAILURES as failure:
        line = getattr(failure, "lineno", None) or 0
        reason = getattr(failure, "msg", None) or str(failure) or type(failure).__name__
        return facts | {("broken", (source.module, line, reason.encode("utf-8", "replace").decode()))}


def parse(text: bytes) -> ast.Module:
    """Python's syntax tree of a file, its encoding found as Python does; raises one of PARSER_FAILURES."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


class _Walk(ast.NodeVisitor):
    """One walk over one file: `scope` holds the code being visited, `when` says when that code runs, `line` is
    the first line of what runs it."""

    def __init__(self, source: SourceFile, tree: ast.Module) -> None:
        self.facts: set[Fact] = set()
        self.source = source
        self.scope = module_scope(source.module, tree)
        self.when = "load"
        self.line = 0
        self.is_test = _is_test_file(source.file)
        if self.is_test or source.module.rpartition(".")[2] == "__main__":
            self.add("entry", source.module)
        self.visit_all(tree.body)

    def add(self, relation: str, *row: str | int) -> None:
        self.facts.add((relation, row))

    def visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Mentions no name."""

    # Definitions

    def visit_FunctionDef(self, node: FunctionNode) -> None:
        self.visit_decorators(node)
        self.visit(node.args)
        if node.returns is not None:
            self.visit(node.returns)
        scope = inner_scope(node, self.scope)
        self.add("function", scope.entity, self.source.module)
        if self.is_test and _is_called_by_test_runners(node.name):
            self.add("entry", scope.entity)
        self.visit_body(node, scope, when="call")

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_decorators(node)
        scope = inner_scope(node, self.scope)
        self.add("class", scope.entity, self.source.module)
        for base in node.bases:
            self.visit_base(base, scope)
        self.visit_all(node.keywords)
        for name in scope.names:
            self.add("has_own", scope.entity, name)
        self.visit_body(node, scope, when=self.when)

    def visit_base(self, base: ast.expr, scope: PythonScope) -> None:
        """A base class with a name is a fact of its own; another one is an expression like any."""
        path = dotted_path(base)
        at = self.binding_scope(path[0]) if path else None
        if path and at is not None:
            self.add_dotted(at, path)
            self.add("base", scope.entity, at, ".".join(path))
        else:
            self.visit(base)

    def visit_decorators(self, node: FunctionNode | ast.ClassDef) -> None:
        """A decorator receives what it decorates, which counts as a mention, unless it is a built-in."""
        self.visit_all(node.decorator_list)
        if any(not (isinstance(d, ast.Name) and d.id in BUILTINS) for d in node.decorator_list):
            self.add("mentions", self.scope.runner, self.scope.entity, node.name)

    def visit_body(self, node: FunctionNode | ast.ClassDef, scope: PythonScope, when: str) -> None:
        first_line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        self.add("defines", self.scope.entity, node.name, scope.entity)
        self.add("defined_at", scope.entity, first_line)
        outer = self.scope, self.when, self.line
        self.scope, self.when = scope, when
        self.line = self.line if scope.is_class else first_line
        self.visit_all(node.body)
        self.scope, self.when, self.line = outer

    # Imports and other names for things

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add("imports_module", self.source.module, alias.name, self.when)
            top, _, _ = alias.name.partition(".")
            target = alias.name if alias.asname else top
            self.add("binds_module", self.scope.entity, alias.asname or top, target)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        source = self.absolute(node.module or "", node.level)
        for alias in node.names:
            self.add("imports_name", self.source.module, source, alias.name, self.when)
            if alias.name == "*":
                self.add("imports_star", self.source.module, source)
            else:
                self.add("binds_name", self.scope.entity, alias.asname or alias.name, source, alias.name)

    def absolute(self, module: str, level: int) -> str:
        """Return the absolute name behind `level` leading dots; as Python has it, one dot is the file's own package."""
        if level == 0:
            return module
        package = self.source.module.split(".")
        up = level - 1 if self.source.is_package else level
        base = package[: max(0, len(package) - up)]
        return ".".join([*base, module] if module else base)

    def visit_Assign(self, node: ast.Assign) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                self.add_listed(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.add_alias(name, dotted_path(value))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and node.target.id == "__all__":
            self.add_listed(node.value)
        self.generic_visit(node)

    def add_alias(self, name: str, path: list[str] | None) -> None:
        at = self.binding_scope(path[0]) if path else None
        if path and at is not None:
            self.add_dotted(at, path)
            self.add("alias", self.scope.entity, name, at, ".".join(path))

    def add_listed(self, value: ast.expr) -> None:
        """`__all__` names what a star import takes; only names written out in it are seen."""
        if self.scope.parent is None:
            self.add("lists", self.source.module)
            for item in getattr(value, "elts", []):
                if isinstance(item, ast.Constant) and isinstance(item.value, str) and item.value.isidentifier():
                    self.add("listed", self.source.module, item.value)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        for generator in node.generators:
            for name in target_names(generator.target):
                self.scope.bind_variable(name)
        self.generic_visit(node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for name in parameter_names(node.args):
            self.scope.bind_variable(name)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.scope.bind_variable(node.target.id)

    # Mentions and calls

    def visit_Call(self, node: ast.Call) -> None:
        path = dotted_path(node.func)
        match node.func:
            case _ if path is not None:
                self.refer(path, node)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                self.call_super(name)
            case function:
                self.visit(function)
        self.visit_all((*node.args, *node.keywords))

    def visit_Attribute(self, node: ast.Name | ast.Attribute) -> None:
        path = dotted_path(node)
        if path is not None:
            if not isinstance(node.ctx, ast.Store) or len(path) > 1:
                self.refer(path, None)
        elif isinstance(node, ast.Attribute):
            self.visit(node.value)
            self.add("sends", self.scope.runner, node.attr)

    visit_Name = visit_Attribute

    def refer(self, path: list[str], call: ast.Call | None) -> None:
        """A mention of `a.b.c`, called or not: a fact about a name, or about the attributes of some object."""
        result = self.scope.lookup(path[0])
        at = self.binding_scope(path[0])
        if at is not None:
            self.add_dotted(at, path)
            self.add("calls_name" if call else "mentions", self.scope.runner, at, ".".join(path))
            if call:
                self.add("called_at", self.scope.runner, ".".join(path), call.lineno - self.line)
        elif result and result[1] is NameBinding.RECEIVER and len(path) == 2 and call:
            self.add("calls_self", self.scope.runner, result[0].receiver_class, path[1])
        else:
            for name in path[1:]:
                self.add("sends", self.scope.runner, name)

    def call_super(self, name: str) -> None:
        scope: PythonScope | None = self.scope
        while scope is not None and not scope.receiver_class:
            scope = scope.parent
        if scope is not None:
            self.add("calls_super", self.scope.runner, scope.receiver_class, name)

    def binding_scope(self, name: str) -> str | None:
        """Return the place to look up a name: the scope that binds it statically, or the module when no scope does, for
        a star import may; None for a variable and for a built-in, which have no definition.
        """
        result = self.scope.lookup(name)
        if result is None:
            return None if name in BUILTINS else self.source.module
        scope, binding = result
        return scope.entity if binding is NameBinding.STATIC else None

    def add_dotted(self, at: str, path: list[str]) -> None:
        """How `a.b.c` is made of `a.b` and `c`, and so on inward: rules cannot take strings apart."""
        for end in range(2, len(path) + 1):
            self.add("dotted", at, ".".join(path[:end]), ".".join(path[: end - 1]), path[end - 1])

    def visit_If(self, node: ast.If) -> None:
        """`if __name__ == "__main__":` makes a module a program; what `TYPE_CHECKING` guards never runs."""
        guard = ast.unparse(node.test) if isinstance(node.test, ast.Compare | ast.Name | ast.Attribute) else ""
        if guard == "__name__ == '__main__'" and self.scope.parent is None:
            self.add("entry", self.source.module)
        self.visit(node.test)
        outer = self.when
        self.when = _GUARDS.get(guard, outer)
        self.visit_all(node.body)
        self.when = outer
        self.visit_all(node.orelse)


def _is_test_file(file: str) -> bool:
    """Return whether test runners would collect the file: by its name, or by its name and folder together."""
    *folders, name = file.removesuffix("/__init__.py").removesuffix(".py").split("/")
    in_tests = any(folder.startswith("test") for folder in folders)
    return name.startswith("test" if in_tests else "test_") or name.endswith("_test") or name == "conftest"


def _is_called_by_test_runners(function: str) -> bool:
    return function.startswith("test") or function in ("load_tests", "setUpModule", "tearDownModule")


_GUARDS = {"__name__ == '__main__'": "main", "TYPE_CHECKING": "typing", "typing.TYPE_CHECKING": "typing"}
