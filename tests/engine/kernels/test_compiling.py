"""Kernels are compiled once on a machine, to one library, and a process loads of it only what its plans call.

Catches a process that imports numba, pandas or another engine for a small program; a kernel loaded, or even compiled,
that no plan calls; machine code that is compiled again though it is there, or kept though what it is made of changed;
and a call that machine code would take for another.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from deltic.engine.kernels import files
from deltic.engine.kernels.building import kernels_by_name
from deltic.engine.kernels.files import file_name, object_of
from deltic.engine.kernels.settle import crossings, totals
from deltic.errors import DelticError

CALL = """
from deltic.engine.kernels.settle import crossings
import numpy as np
crossings(np.array([0]), np.array([1]))
"""

# What a kernel does with arrays, refusals and references; last, whether numba was imported.
CALLS = """
from deltic.engine.kernels.merge import order_ties
from deltic.engine.kernels.settle import crossings, totals
import numpy as np, sys
old = np.array([0, 1])
for arguments in ((old, np.array([1, -1])), (old[::-1], old), (old.astype(np.int32), old), (1, 2), (old,)):
    try:
        print(crossings(*arguments).tolist())
    except Exception as error:
        print(type(error).__name__, str(error)[:40])
del arguments
rows = np.array([[1, 1], [5, 3]], np.uint64)
order = np.array([0, 1])
print(order_ties(rows, order), order.tolist(), sys.getrefcount(old))
many = [crossings(old, old) for _ in range(1000)]
many = many[::7]
print(sum(map(sum, many)), many[0].flags.writeable, many[0].dtype)
print("numba" if "numba" in sys.modules else "")
"""
CALLED = [
    "[1, -1]",
    "ValueError settle.crossings: old, change must be co",
    "TypeError can't unbox array from PyObject into nat",
    "TypeError can't unbox array from PyObject into nat",
    "TypeError checked expected 2 arguments, got 1",
    "None [1, 0] 2",
    "0 True int64",
]

PROGRAM = """
import json, sys
import deltic

pipeline = deltic.Pipeline()
pipeline.datalog(sys.argv[1])
with pipeline.transaction() as change:
    change.insert("edge", [(1, 2), (2, 3), (3, 4)])
pipeline["path"].to_arrow()
modules = sorted(sys.modules)

from deltic.engine.kernels.building import kernels_by_name
loaded = [name for name, kernel in kernels_by_name().items() if "machine_code" in vars(kernel)]
print(json.dumps([modules, sorted(loaded)]))
"""

DECLARATIONS = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
"""

NOT_ASKED_FOR = {"duckdb", "llvmlite", "matplotlib", "numba", "pandas", "pyarrow.parquet", "pyspark", "rich", "typer"}
ALWAYS = {
    "arrow_columns.read_columns",
    "join.search",
    "merge.consolidate_few",
    "packing.all_fit",
    "packing.pack_values",
    "packing.places_of",
    "packing.ranges",
    "query.begin",
    "search.describe",
}


def run(program: str, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *args]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    ("rules", "others"),
    [
        ("path(x, z) :- edge(x, y), edge(y, z).", {"packing.move_offsets", "settle.crossings", "settle.totals"}),
        ("path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).", {"iterate.iterate", "merge.repeats"}),
    ],
)
def test_a_small_program_loads_what_its_plan_calls_and_nothing_else(rules: str, others: set[str]) -> None:
    modules, loaded = json.loads(run(PROGRAM, DECLARATIONS + rules).stdout)
    assert not NOT_ASKED_FOR & set(modules)
    assert set(loaded) == ALWAYS | others


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A cache with the objects of all kernels, and without the library."""
    for path in map(object_of, kernels_by_name()):
        shutil.copy2(path, tmp_path)
    return tmp_path


def test_only_the_first_process_makes_the_library_and_says_so(compiled: Path) -> None:
    first, second = (run(CALL, DELTIC_CACHE_DIR=str(compiled)).stderr for _ in range(2))
    assert "once for this machine" in first
    assert second == ""
    assert (compiled / file_name()).stat().st_mode & 0o777 == 0o600


def test_a_library_that_others_may_write_is_made_again(compiled: Path) -> None:
    run(CALL, DELTIC_CACHE_DIR=str(compiled))
    library = compiled / file_name()
    library.write_bytes(b"something else")
    library.chmod(0o666)
    assert "others may write" in run(CALL, DELTIC_CACHE_DIR=str(compiled)).stderr
    assert library.stat().st_mode & 0o777 == 0o600


def test_a_library_that_another_process_makes_is_waited_for(tmp_path: Path) -> None:
    with open(tmp_path / "kernels.lock", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [sys.executable, "-m", "deltic.engine.kernels.building"]
        with subprocess.Popen(command, env=os.environ | {"DELTIC_CACHE_DIR": str(tmp_path)}) as process:
            library = tmp_path / file_name()
            library.write_bytes(b"made by another")
            library.chmod(0o600)
            fcntl.flock(file, fcntl.LOCK_UN)
            assert process.wait() == 0
    assert library.read_bytes() == b"made by another"


def test_without_a_compiler_of_c_llvm_loads_the_objects(compiled: Path) -> None:
    shown = run(CALLS, DELTIC_CACHE_DIR=str(compiled), CC="no-compiler")
    assert shown.stdout.splitlines()[:-1] == CALLED
    assert shown.stdout.splitlines()[-1] == "numba"
    assert not (compiled / file_name()).exists()


def test_the_library_is_called_as_numba_would_and_without_it() -> None:
    assert run(CALLS).stdout.splitlines() == [*CALLED, ""]


def test_no_compiler_is_an_error_that_says_how_to_add_one(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['numba'] = None; sys.path_importer_cache.clear()\n"
    hidden += "import importlib.util as u; find = u.find_spec\n"
    hidden += "u.find_spec = lambda name, *args: None if name == 'numba' else find(name, *args)\n"
    command = [sys.executable, "-c", hidden + CALL]
    failed = subprocess.run(
        command, env=os.environ | {"DELTIC_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True
    )
    assert "add it by pip install 'deltic[compile]'" in failed.stderr.splitlines()[-1]


def test_no_kernel_raises_what_only_numba_could_make() -> None:
    """Exceptions whose text is computed take numba's own classes; `runtime.c` has those whose text is known."""
    for name in kernels_by_name():
        assert b"NRT_Allocate" not in object_of(name).read_bytes(), name


def test_objects_belong_to_the_sources_that_they_are_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["iterate.iterate", "join.search", "settle.crossings"]
    before = [object_of(name) for name in names]
    source = files.source_of
    monkeypatch.setattr(files, "source_of", lambda m: source(m) + b"# changed" * (m == "arithmetic"))
    changed = [object_of.__wrapped__(name) != path for name, path in zip(names, before, strict=True)]
    assert changed == [True, True, False]


def test_code_is_kept_where_it_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DELTIC_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert object_of.__wrapped__("settle.crossings").parent.parent == tmp_path
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/dev/null")
    with pytest.raises(DelticError, match="no directory can be written"):
        object_of.__wrapped__("settle.crossings")


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
