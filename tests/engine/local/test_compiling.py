"""Kernels are compiled once on a machine, in processes of their own, and a process loads only what its plans call.

Catches a process that imports numba, pandas or another engine for a small program; a kernel loaded, or even compiled,
that no plan calls; machine code that is compiled again though it is there, or kept though what it is made of changed;
and a call that machine code would take for another.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from deltic import caches
from deltic.engine.local.kernels import loading
from deltic.engine.local.kernels.loading import file_of
from deltic.engine.local.kernels.settle import crossings, totals
from deltic.errors import DelticError

CALL = """
from deltic.engine.local.kernels.settle import crossings
import numpy as np
crossings(np.array([0]), np.array([1]))
"""

PROGRAM = """
import importlib, json, pkgutil, sys
import deltic
from deltic.engine.local import kernels
from deltic.engine.local.kernels.declaring import Kernel

pipeline = deltic.Pipeline()
pipeline.datalog(sys.argv[1])
with pipeline.transaction() as change:
    change.insert("edge", [(1, 2), (2, 3), (3, 4)])
pipeline["path"].to_arrow()
modules = sorted(sys.modules)
found = [importlib.import_module(f"{kernels.__name__}.{m.name}") for m in pkgutil.iter_modules(kernels.__path__)
         if m.name not in ("compiling", "intrinsics")]
loaded = {v.name for m in found for v in vars(m).values() if isinstance(v, Kernel) and "machine_code" in vars(v)}
print(json.dumps([modules, sorted(loaded)]))
"""

DECLARATIONS = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
"""

NOT_ASKED_FOR = {"duckdb", "matplotlib", "numba", "pandas", "pyarrow.parquet", "pyspark", "rich", "typer"}
ALWAYS = {"join.search", "merge.count_equal", "query.begin", "search.describe"}


def run(program: str, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *args]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    ("rules", "others"),
    [
        ("path(x, z) :- edge(x, y), edge(y, z).", {"settle.crossings", "settle.totals"}),
        ("path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).", {"iterate.iterate", "merge.repeats"}),
    ],
)
def test_a_small_program_loads_what_its_plan_calls_and_nothing_else(rules: str, others: set[str]) -> None:
    modules, loaded = json.loads(run(PROGRAM, DECLARATIONS + rules).stdout)
    assert not NOT_ASKED_FOR & set(modules)
    assert set(loaded) == ALWAYS | others


def test_only_the_first_process_compiles_and_says_so(tmp_path: Path) -> None:
    first, second = (run(CALL, DELTIC_CACHE_DIR=str(tmp_path)).stderr for _ in range(2))
    greeting, kernel = first.splitlines()
    assert "once for this machine" in greeting
    assert kernel == "compiling settle.crossings"
    assert second == ""
    assert [path.name.partition("-")[0] for path in tmp_path.iterdir()] == ["settle.crossings"]


def test_a_kernel_that_another_process_compiles_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTIC_CACHE_DIR", str(tmp_path))
    path = file_of.__wrapped__("settle.crossings")
    with open(path.with_name(f"{path.name}.unfinished"), "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [sys.executable, "-m", "deltic.engine.local.kernels.compiling", "settle.crossings"]
        with subprocess.Popen(command) as process:
            caches.write(path, b"compiled by another")
            fcntl.flock(file, fcntl.LOCK_UN)
            assert process.wait() == 0
    assert caches.read(path) == b"compiled by another"


def test_machine_code_belongs_to_the_sources_that_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["iterate.iterate", "join.search", "settle.crossings"]
    before = [file_of(name) for name in names]
    source = loading._source
    monkeypatch.setattr(loading, "_source", lambda m: source(m) + b"# changed" * (m == "arithmetic"))
    changed = [file_of.__wrapped__(name) != path for name, path in zip(names, before, strict=True)]
    assert changed == [True, True, False]


def test_code_is_kept_where_it_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DELTIC_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert file_of.__wrapped__("settle.crossings").parent.parent == tmp_path
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/dev/null")
    with pytest.raises(DelticError, match="no directory can be written"):
        file_of.__wrapped__("settle.crossings")


def test_arrays_that_are_not_contiguous_are_refused_where_that_matters() -> None:
    every_other = np.arange(10)[::2]
    with pytest.raises(ValueError, match=r"settle\.crossings: old, change must be contiguous"):
        crossings(every_other, every_other)
    rows = np.arange(12, dtype=np.uint64).reshape(3, 4).T
    assert totals(rows, np.empty((0, 4), np.int64)).tolist() == [0, 0, 0]


def test_numba_and_pandas_work_as_ever_beside_kernels() -> None:
    used_after = """
import numba, pandas, pyarrow
print(numba.njit(lambda a: a.argsort())(np.array([2, 1])).tolist())
print(pyarrow.array(pandas.Series([1.0, float("nan")])).null_count)
"""
    assert run(CALL + used_after).stdout == "[1, 0]\n1\n"
    assert run("import numpy as np" + used_after + CALL).stdout == "[1, 0]\n1\n"
