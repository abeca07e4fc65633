"""The layers of the design, enforced on the imports of every module.

Catches an import that points to the right in: algebra, values ◄ functions ◄ circuit ◄ calculus ◄ program ◄ engine ◄
why ◄ pipeline ◄ server ◄ cli, demo (catalog stands beside calculus: it sees circuit and what is left of it alone, and
so do datalog and sql, which see the catalog too; `deltic_theory` sees what it explains, `deltic_ddlog` the pipeline,
and nothing sees them), wherever in a file it stands and however it is written; an import of the oracle by what it
checks; and an `import deltic` that pulls in what takes seconds to load.
"""

from __future__ import annotations

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    ROOT / "src" / "deltic",
    ROOT / "theory" / "src" / "deltic_theory",
    ROOT / "extensions" / "ddlog" / "src" / "deltic_ddlog",
)
NAMES = {package.name for package in PACKAGES}

_VALUES = {
    "passwords",
    "errors",
    "discovery",
    "without_pandas",
    "html",
    "trusted",
    "progress",
    "duck",
    "caches",
    "grammars",
    "collecting",
    "depth",
    "extras",
    "immutable",
    "lazy",
    "values",
}
_FUNCTIONS = _VALUES | {"functions"}
_CIRCUIT = _FUNCTIONS | {"algebra", "circuit"}
_CALCULUS = _CIRCUIT | {"calculus"}
_PROGRAM = _CALCULUS | {"program"}
_ENGINE = _PROGRAM | {"engine"}
_CATALOG = _CIRCUIT | {"catalog"}
_WHY = _ENGINE | {"catalog", "why"}
_PIPELINE = _WHY | {"datalog", "sql", "pipeline"}
_SERVER = _PIPELINE | {"server"}

# For each part of the package: the parts that it may import. `deltic` is the package's own namespace, which leads
# to the pipeline; its `__version__` is free to all.
MAY_IMPORT: dict[str, set[str]] = {
    "passwords": set(),
    "errors": {"passwords"},
    "depth": {"errors"},
    "discovery": set(),
    "progress": {"errors"},
    "extras": {"errors"},
    "without_pandas": set(),
    "html": set(),
    "immutable": set(),
    "lazy": set(),
    "trusted": {"errors"},
    "duck": set(),
    "caches": {"errors", "trusted"},
    "grammars": {"caches"},
    "collecting": set(),
    "algebra": {"algebra"},
    "values": _VALUES,
    "functions": _FUNCTIONS,
    "circuit": _CIRCUIT,
    "calculus": _CALCULUS,
    "deltic_theory": _CALCULUS | {"deltic_theory"},
    "program": _PROGRAM,
    "catalog": _CATALOG,
    "datalog": _CATALOG | {"datalog"},
    "sql": _CATALOG | {"sql"},
    "engine": _ENGINE,
    "why": _WHY,
    "pipeline": _PIPELINE,
    "deltic_ddlog": _PIPELINE | {"deltic_ddlog"},
    "deltic": {"errors", "pipeline", "progress"},
    "server": _SERVER,
    "cli": _SERVER | {"deltic", "cli", "demo"},
    "demo": _PIPELINE | {"deltic", "cli", "demo"},
    "__main__": {"errors", "extras", "cli"},
}

# The rooms and modules of the pipeline: rows ◄ sources ◄ definitions ◄ questions ◄ epochs ◄ state; the parts of a
# session; statements, sessions, and what runs them. Each imports only those before it.
PIPELINE = (
    "names shards spark io rows python connectors definitions reading sql options engines epochs durability",
    "metrics explaining evolution evolving registry watching refreshing defining commanding",
    "streaming statements restoring session following verifying declarative job",
)

HEAVY = {"duckdb", "lark", "llvmlite", "matplotlib", "numba", "numpy", "pandas", "pyarrow", "pyspark", "sqlglot"}


def _part(dotted: str) -> str:
    """The part of the house that a module's dotted name belongs to: a folder of `deltic`, or another package."""
    package, *inside = dotted.split(".")
    return inside[0] if package == "deltic" and inside else package


def _absolute(name: str, level: int, package: str) -> str:
    """The dotted name that `from <level dots><name>` means inside `package`."""
    if level == 0:
        return name
    base = package.split(".")[: len(package.split(".")) - (level - 1)]
    return ".".join([*base, *filter(None, [name])])


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    """The dotted names that one node of a syntax tree imports."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            base = _absolute(module or "", level, package)
            yield from (f"{base}.{alias.name}" for alias in names)
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            yield _absolute(name.lstrip("."), len(name) - len(name.lstrip(".")), package)


def _target(dotted: str, parts: set[str]) -> str | None:
    """The part that an imported name belongs to; None for a name outside Deltic, and for its version."""
    if dotted.split(".")[0] not in NAMES or dotted == "deltic.__version__":
        return None
    part = _part(dotted)
    return part if part in parts else "deltic"


def _nodes(source: str) -> Iterator[ast.AST]:
    """The nodes of a source that may import something."""
    pending: list[ast.AST] = [ast.parse(source)]
    may_call = "import_module" in source or "__import__" in source
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            yield node
        if may_call or not isinstance(node, ast.expr):
            pending += ast.iter_child_nodes(node)


def violations(source: str, package: str, module: str) -> list[str]:
    """Every import of a module's source that its layer forbids, as `line: importer -> imported`."""
    part = _part(module)
    found = []
    for node in _nodes(source):
        for dotted in _imported(node, package):
            target = _target(dotted, set(MAY_IMPORT))
            if target is not None and target not in MAY_IMPORT.get(part, set()):
                found.append(f"{node.lineno}: {part} -> {target}")
    return found


def _modules() -> Iterator[tuple[Path, str, str]]:
    """Each file of the packages with the names of its package and of its module."""
    for root in PACKAGES:
        for path in sorted(root.rglob("*.py")):
            dotted = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            module = dotted.removesuffix(".__init__")
            yield path, module if path.name == "__init__.py" else module.rpartition(".")[0], module


def test_every_part_of_the_package_has_a_layer():
    assert {_part(module) for _, _, module in _modules()} <= set(MAY_IMPORT)


def test_imports_point_to_the_left():
    found = [
        f"{path.relative_to(ROOT)}:{violation}"
        for path, package, module in _modules()
        for violation in violations(path.read_text(encoding="utf-8"), package, module)
    ]
    assert found == []


@cache
def _imports() -> dict[str, set[str]]:
    """The modules that each module imports, packages left out: their `__init__` only passes names on."""
    known = {module: path for path, _, module in _modules()}
    found: dict[str, set[str]] = {}
    for path, package, module in _modules():
        names = {name for node in _nodes(path.read_text(encoding="utf-8")) for name in _imported(node, package)}
        targets = {name if name in known else name.rpartition(".")[0] for name in names} & known.keys()
        found[module] = {name for name in targets - {module} if known[name].name != "__init__.py"}
    return found


def test_rooms_of_the_pipeline_import_what_is_before_them():
    order = " ".join(PIPELINE).split()
    rooms = {m: m.split(".")[2] for m in _imports() if m.startswith("deltic.pipeline.")}
    assert set(rooms.values()) == set(order)
    found = [
        f"{module} imports {name}"
        for module, names in _imports().items()
        for name in names & rooms.keys()
        if module in rooms and order.index(rooms[module]) < order.index(rooms[name])
    ]
    assert found == []


def test_modules_import_each_other_in_no_circle():
    """Imports in functions and for type checking count: who reads a module of a circle has to read all of them."""
    graphlib.TopologicalSorter(_imports()).prepare()


def test_a_class_name_stands_for_one_thing():
    places: dict[str, list[str]] = {}
    for path, _, module in _modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    product = {name: [m for m in modules if not m.startswith("deltic_theory")] for name, modules in places.items()}
    assert {name: modules for name, modules in product.items() if len(modules) > 1} == {}


def test_the_oracle_is_no_part_of_what_it_checks():
    """Only the reference engine, which is the oracle behind an engine's protocol, and the theory import it."""
    importers = {
        module
        for path, package, module in _modules()
        for node in _nodes(path.read_text(encoding="utf-8"))
        for dotted in _imported(node, package)
        if f"{dotted}.".startswith("deltic.circuit.oracle.")
    }
    product = {name for name in importers if not name.startswith(("deltic.circuit.oracle", "deltic_theory"))}
    assert product == {"deltic.engine.reference"}


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("deltic.values.types", "import deltic.circuit.graph", ["1: values -> circuit"]),
        ("deltic.values.types", "from deltic import calculus", ["1: values -> calculus"]),
        ("deltic.values.types", "from deltic.pipeline import Pipeline", ["1: values -> pipeline"]),
        ("deltic.circuit.operators.join", "from ...engine import protocol", ["1: circuit -> engine"]),
        ("deltic.circuit.operators.join", "from ... import engine", ["1: circuit -> engine"]),
        ("deltic.circuit.operators.join", "from .. import types", []),
        ("deltic.values.types", "def f():\n    import deltic.engine", ["2: values -> engine"]),
        ("deltic.values.types", "if TYPE_CHECKING:\n    from deltic.engine import x", ["2: values -> engine"]),
        ("deltic.engine.reference", "import importlib\nimportlib.import_module('deltic.cli')", ["2: engine -> cli"]),
        ("deltic.datalog.lower", "from deltic.calculus import table", ["1: datalog -> calculus"]),
        ("deltic.datalog.lower", "from deltic.sql import bind", ["1: datalog -> sql"]),
        ("deltic.datalog.lower", "from deltic.catalog import tables", []),
        ("deltic.catalog.tables", "from deltic.calculus import push", ["1: catalog -> calculus"]),
        ("deltic.program.delta", "from deltic.engine.executors.inline import store", ["1: program -> engine"]),
        ("deltic.calculus.push", "from deltic.program import delta", ["1: calculus -> program"]),
        ("deltic_theory.circuits.machine", "from deltic.calculus import push", []),
        ("deltic.circuit.oracle.memory", "from deltic_theory import law", ["1: circuit -> deltic_theory"]),
        ("deltic.demo.main", "import deltic_theory.streams", ["1: demo -> deltic_theory"]),
        ("deltic_ddlog.session", "from deltic.pipeline.watching import Watching", []),
        ("deltic_ddlog.session", "from deltic.cli.main import app", ["1: deltic_ddlog -> cli"]),
        ("deltic.pipeline.session", "import deltic_ddlog.check", ["1: pipeline -> deltic_ddlog"]),
        ("deltic.datalog.lower", "from deltic.circuit import builder\nfrom deltic.errors import DelticError", []),
        ("deltic.algebra.zset", "from deltic.errors import DelticError", ["1: algebra -> errors"]),
        ("deltic.engine.reference", "from deltic import Pipeline", ["1: engine -> deltic"]),
        ("deltic.pipeline.session", "import deltic", ["1: pipeline -> deltic"]),
        ("deltic.pipeline.session", "from deltic import __version__", []),
        ("deltic.cli.main", "import deltic\nfrom deltic.demo import run", []),
        ("deltic.algebra.zset", "import numpy\nfrom deltically import x", []),
    ],
)
def test_the_checker_sees_every_form_of_import(module: str, source: str, expected: list[str]):
    assert violations(source, module.rpartition(".")[0], module) == expected


def test_tests_patch_no_private_method():
    """A method that a test replaces is public: who changes it sees that it is a seam. Constants may be private."""
    pattern = re.compile(r"""setattr\((?:\*\()?[\w.]+, ["']_[a-z]|setattr\(["'][\w.]+\._[a-z]\w*["'],""")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for folder in ("tests", "theory/tests", "extensions")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_importing_deltic_is_light():
    """A fresh interpreter, because this one has loaded everything already."""
    assert HEAVY.isdisjoint(name.split(".")[0] for name in _loaded_by("import deltic"))


def test_a_session_runs_without_the_oracle():
    """Catches a part of the oracle that computes answers: nothing could see its errors."""
    session = """
import deltic
with deltic.Pipeline() as pipeline:
    pipeline.sql("CREATE TABLE t (a INT PRIMARY KEY, b INT); CREATE VIEW v AS SELECT b, count(*) n FROM t GROUP BY b")
    pipeline.sql("INSERT INTO t VALUES (1, 2), (3, 4); UPDATE t SET b = b + 1 WHERE a = 1; SELECT a + 1 FROM t")
    pipeline.sql("EXPLAIN v; EXPLAIN WHY SELECT * FROM v; SELECT max(n) FROM v")
"""
    assert [name for name in _loaded_by(session) if "oracle" in name or "reference" in name] == []


def _loaded_by(program: str) -> list[str]:
    """The modules that a program loads in an interpreter of its own."""
    text = f"{program}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout
    loaded: list[str] = json.loads(shown.splitlines()[-1])
    return loaded
