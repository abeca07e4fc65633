"""Breaks the theory, the calculus and the engine on purpose, one place at a time, and lists which test notices each.

    python scripts/mutate.py > FILE                       # all modules of mutate.toml, a few mutants of each
    python scripts/mutate.py --each 50 deltic_theory/boolean.py  # more, of one module

A mutant is a module with one expression exchanged for another that a slip could have made. It lives in a copy of the
sources under the system's temporary directory; the tests that mutate.toml names for the module, or for its folder, run
on it until one fails. The first mutant of every module is tried before the second of any, so that a run that
`--minutes` ends has seen all modules. Mutants that survive are each a test that is missing, or an expression that makes
no difference, and mutate.toml says of which ones that is known, and why.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src", ROOT / "theory" / "src")
TABLE = Path(__file__).with_name("mutate.toml")
# What a mutant may take: one that loops for ever is noticed, too.
SECONDS = 300
# What the tests import beside Deltic: imported once, here, and there in each process that tries a mutant.
PRELOADED = ("pytest", "hypothesis", "numpy", "pyarrow.compute", "sqlglot", "lark", "duckdb", "rich")
# Whole numbers above this are limits and sizes; one more of them makes no difference that a test should see.
LIMIT = 64

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


Way = tuple[tuple[str, int | None], ...]
"""From a module to a node: the fields to follow, with a place in those that are lists."""


@dataclass(frozen=True, eq=False)
class Mutant:
    """A module with one place of its tree changed: where `way` leads `place` stands, and shall stand `new`."""

    module: str
    tree: ast.Module
    way: Way
    place: ast.AST
    new: ast.AST

    @property
    def line(self) -> int:
        return self.place.lineno

    @property
    def change(self) -> str:
        return f"{_shown(self.place)} -> {_shown(self.new)}"

    @property
    def name(self) -> str:
        return f"{self.module}:{self.line}: {self.change}"

    @property
    def key(self) -> str:
        """What it is called in mutate.toml: a name that does not change with the lines above it."""
        return f"{self.module}: {self.change}"

    @property
    def source(self) -> str:
        """The text of the module."""
        changed = copy.deepcopy(self.tree)
        parent: ast.AST = changed
        for name, index in self.way[:-1]:
            field = getattr(parent, name)
            parent = field if index is None else field[index]
        name, index = self.way[-1]
        if index is None:
            setattr(parent, name, self.new)
        else:
            getattr(parent, name)[index] = self.new
        return ast.unparse(ast.fix_missing_locations(changed))


def _source(module: str) -> Path:
    """The file of a module, which is named by its path below the folder of sources."""
    return next(path for path in (source / module for source in SOURCES) if path.exists())


def mutants(module: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    tree = ast.parse(_source(module).read_text(encoding="utf-8"))
    return [Mutant(module, tree, way, place, new) for way, place in _places(tree) for new in _changes(place)]


def _places(node: ast.AST, path: Way = ()) -> Iterator[tuple[Way, ast.AST]]:
    """The nodes that may be changed with the ways to them: none of types, docstrings, decorators and messages."""
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "keywords", "type_params"):
            continue
        children = enumerate(field) if isinstance(field, list) else [(None, field)]
        for index, child in children:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            here = (*path, (name, index))
            yield here, child
            yield from _places(child, here)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the node's place."""
    changed = copy.deepcopy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        changed.ops[0] = SWAPS[type(node.ops[0])]()
        yield changed
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in SWAPS:
        changed.op = SWAPS[type(node.op)]()
        yield changed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield changed.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value <= LIMIT:
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.IfExp):
        changed.body, changed.orelse = changed.orelse, changed.body
        yield changed
    elif isinstance(node, ast.Call) and len(node.args) == 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        changed.args.reverse()
        yield changed
    elif isinstance(node, ast.If):
        changed.test = ast.UnaryOp(ast.Not(), changed.test)
        yield changed
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield ast.Pass()


def _shown(node: ast.AST) -> str:
    """The first line of its text."""
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


def tests_of(module: str, table: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The tests that the table names for a module, or for the nearest folder that it is in; none where it has none."""
    places = [module, *(f"{folder}/" for folder in map(str, Path(module).parents))]
    return next((table[place] for place in places if place in table), ())


def modules_of(table: Mapping[str, Sequence[str]]) -> list[str]:
    """The modules of the table, and those in its folders that have tests."""
    found = {module for module in table if module.endswith(".py")}
    for folder in (folder for folder in table if folder.endswith("/")):
        for source in SOURCES:
            inside = (source / folder).rglob("*.py")
            found |= {str(path.relative_to(source)) for path in inside if path.name != "__init__.py"}
    return sorted(module for module in found if tests_of(module, table))


def noticed_by(mutant: Mutant, copied: Path, tests: Sequence[str]) -> str:
    """The first test that fails on the mutant, "" where none does."""
    place, output = copied / mutant.module, copied / "output"
    before = place.read_text(encoding="utf-8")
    place.write_text(mutant.source, encoding="utf-8")
    try:
        status = _tried(tests, copied, output)
    finally:
        place.write_text(before, encoding="utf-8")
    if status is None:
        return f"no end within {SECONDS} s"
    if status == 0:
        return ""
    found = re.search(r"^(?:FAILED|ERROR) (\S+?)(?:\[| |$)", output.read_text(errors="replace"), re.MULTILINE)
    return found[1] if found else "the tests do not start"


def _tried(tests: Sequence[str], copied: Path, output: Path) -> int | None:
    """How a process that runs the tests on the copied sources ends; None where it does not."""
    child = os.fork()
    if not child:
        os.setsid()
        _run(tests, copied, output)
    started = time.monotonic()
    while time.monotonic() < started + SECONDS:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _run(tests: Sequence[str], copied: Path, output: Path) -> None:
    """Run tests in this process, and end it."""
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(copied / "examples")
    os.environ["PYTHONPATH"] = str(copied)
    os.chdir(ROOT)
    sys.path.insert(0, str(copied))
    status = 1
    try:
        chosen = ["-x", "-q", "-n", "0", "-m", "not slow and not spark", "-p", "no:cacheprovider"]
        status = int(import_module("pytest").main([*chosen, *tests]))
    finally:
        sys.stdout.flush()
        os._exit(status)


def drawn(modules: Sequence[str], each: int, seed: int, known: Mapping[str, str]) -> Iterator[Mutant]:
    """So many mutants of each module, at random, in rounds; none of those that are known to make no difference."""
    samples = []
    for module in modules:
        found = [mutant for mutant in mutants(module) if mutant.key not in known]
        samples.append(random.Random(f"{seed} {module}").sample(found, min(each, len(found))))
    return (mutant for row in zip_longest(*samples) for mutant in row if mutant is not None)


def main() -> None:
    """Try the mutants that the command line asks for."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    modules = modules_of(table["tests"])
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", default=modules, help="modules that mutate.toml has tests for")
    parser.add_argument("--each", type=int, default=5, help="mutants of each module, drawn at random (5)")
    parser.add_argument("--seed", type=int, default=0, help="what the drawing starts from (0)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after how many no other is begun")
    given = parser.parse_args()
    unknown = [module for module in given.modules if module not in modules]
    if unknown:
        parser.error(f"{', '.join(unknown)}: {TABLE.name} names no tests for it")
    for name in PRELOADED:
        import_module(name)
    found: dict[Mutant, str] = {}
    end = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as directory:
        copied = Path(directory)
        for source in SOURCES:
            shutil.copytree(source, copied, dirs_exist_ok=True)
        for mutant in drawn(given.modules, given.each, given.seed, table["equivalent"]):
            if time.monotonic() > end:
                break
            found[mutant] = noticed_by(mutant, copied, tests_of(mutant.module, table["tests"]))
            print(f"{mutant.name}: {found[mutant] or 'SURVIVES'}", file=sys.stderr, flush=True)
    for mutant in sorted(found, key=lambda mutant: (mutant.module, mutant.line)):
        print(f"{mutant.name}\n    {found[mutant] or 'SURVIVES'}")
    survivors = [mutant for mutant, killer in found.items() if not killer]
    print(f"\n{len(found)} mutants of {len({mutant.module for mutant in found})} modules", end=", ")
    print(f"{len(found) - len(survivors)} noticed")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
