"""Breaks the theory and the engine on purpose, one place at a time, and lists which test notices each.

    python scripts/mutate.py                              # all modules of mutate.toml, a few mutants of each
    python scripts/mutate.py --each 50 theory/boolean.py  # more, of one module

A mutant is a module with one expression exchanged for another that a slip could have made. It lives in a copy of the
sources under the system's temporary directory; the tests that mutate.toml names for the module run on it until one
fails. Mutants that survive are listed at the end: each is a test that is missing, or an expression that makes no
difference, and mutate.toml says of which ones that is known, and why.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
TABLE = Path(__file__).with_name("mutate.toml")
# What a mutant may take: one that loops for ever is noticed, too.
SECONDS = 300
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


@dataclass(frozen=True)
class Mutant:
    """A module with one place changed; `before` and `after` are the source of the place."""

    module: str
    line: int
    before: str
    after: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.module}:{self.line}: {self.before} -> {self.after}"

    @property
    def key(self) -> str:
        """What it is called in mutate.toml: a name that does not change with the lines above it."""
        return f"{self.module}: {self.before} -> {self.after}"


def mutants(module: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    tree = ast.parse((SOURCES / "deltic" / module).read_text(encoding="utf-8"))
    return [_mutant(module, tree, path, place, changed) for path, place in _places(tree) for changed in _changes(place)]


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


def _mutant(module: str, tree: ast.Module, path: Way, place: ast.AST, new: ast.AST) -> Mutant:
    """The mutant with `new` where the path leads."""
    changed = copy.deepcopy(tree)
    parent: ast.AST = changed
    for name, index in path[:-1]:
        field = getattr(parent, name)
        parent = field if index is None else field[index]
    name, index = path[-1]
    if index is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[index] = new
    source = ast.unparse(ast.fix_missing_locations(changed))
    return Mutant(module, place.lineno, _shown(place), _shown(new), source)


def _shown(node: ast.AST) -> str:
    """The first line of its text."""
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


def noticed_by(mutant: Mutant, copied: Path, tests: Sequence[str]) -> str:
    """The first test that fails on the mutant, "" where none does."""
    place = copied / "deltic" / mutant.module
    before = place.read_text(encoding="utf-8")
    place.write_text(mutant.source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copied)}
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end within {SECONDS} s"
    finally:
        place.write_text(before, encoding="utf-8")
    if run.returncode == 0:
        return ""
    found = re.search(r"^(?:FAILED|ERROR) (\S+?)(?:\[| |$)", run.stdout, re.MULTILINE)
    return found[1] if found else "the tests do not start"


def main() -> None:
    """Try the mutants that the command line asks for."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", default=list(table["tests"]), help="modules of mutate.toml")
    parser.add_argument("--each", type=int, default=5, help="mutants of each module, drawn at random (5)")
    parser.add_argument("--seed", type=int, default=0, help="what the drawing starts from (0)")
    given = parser.parse_args()
    unknown = [module for module in given.modules if module not in table["tests"]]
    if unknown:
        parser.error(f"{', '.join(unknown)}: not in {TABLE.name}, which names the tests of each module")
    survivors = []
    tried = 0
    with tempfile.TemporaryDirectory() as directory:
        copied = Path(directory) / "src"
        shutil.copytree(SOURCES, copied)
        for module in given.modules:
            found = [mutant for mutant in mutants(module) if mutant.key not in table["equivalent"]]
            drawn = random.Random(f"{given.seed} {module}").sample(found, min(given.each, len(found)))
            for mutant in sorted(drawn, key=lambda mutant: mutant.line):
                killer = noticed_by(mutant, copied, table["tests"][module])
                tried += 1
                print(f"{mutant.name}\n    {killer or 'SURVIVES'}", flush=True)
                survivors += [mutant.name] * (not killer)
    print(f"\n{tried} mutants, {tried - len(survivors)} noticed")
    for name in survivors:
        print(f"survives: {name}")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
