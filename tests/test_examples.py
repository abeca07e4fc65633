"""The applications in examples/: they print what their files say, or what another way to compute it gives."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import nbformat
import pyarrow.parquet as pq
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"


def application(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / name / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["access_rights", "dashboard"])
def test_an_application_prints_what_its_file_says(name, capsys):
    application(name).main()
    assert capsys.readouterr().out == (EXAMPLES / name / "expected.txt").read_text(encoding="utf-8")


def test_what_schedulers_run(tmp_path):
    """From any directory, as a scheduler does; scripts/check-schedulers runs the schedulers themselves."""
    folder = shutil.copytree(EXAMPLES / "schedulers", tmp_path / "shop")
    command = [sys.executable, "-m", "deltic", "refresh", str(folder / "shop.yml")]
    for epoch in ("takings +2 −0", "nothing was new"):
        assert epoch in subprocess.run(command, cwd="/", check=True, capture_output=True, text=True).stdout
    assert pq.read_table(folder / "takings").num_rows == 2


def content(output: nbformat.NotebookNode) -> object:
    """What a cell shows, or the text that it writes to standard error."""
    return output["data"] if "data" in output else output["text"]


@pytest.mark.parametrize("name", ["access_rights", "dashboard", "packages"])
def test_a_notebook_shows_what_it_showed(name):
    """Where its outputs are the same each time; of cells that are tagged `varies` those that have one."""
    notebook = nbformat.read(EXAMPLES / name / f"{name}.ipynb", 4)
    shown = [cell.get("outputs", []) for cell in notebook.cells]
    with warnings.catch_warnings():  # of the kernel, about its way of transport
        warnings.simplefilter("ignore")
        client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(EXAMPLES / name)}})
        client.execute()
    for cell, before in zip(notebook.cells, shown, strict=True):
        now = cell.get("outputs", [])
        assert [output["output_type"] for output in now] == [output["output_type"] for output in before]
        if "varies" not in cell.metadata.get("tags", []):
            assert list(map(content, now)) == list(map(content, before))
        assert all("text/html" in output["data"] for output in now if "data" in output)


STATUS = """\
Package: app
Depends: lib (>= 2), tool | other,
 mail-agent

Package: lib
Pre-Depends: base

Package: tool
Depends: lib, absent

Package: base
Depends: lib

Package: exim
Provides: mail-agent (= 4), nothing
Depends: base

Package: alone
Depends: base
"""


def closure(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs = pairs | more
    return pairs


def test_dependencies_of_packages(tmp_path, capsys):
    packages = application("packages")
    pairs = packages.dependencies(STATUS)
    assert pairs == {
        *(("app", "lib"), ("app", "tool"), ("app", "exim"), ("lib", "base"), ("tool", "lib"), ("base", "lib")),
        *(("exim", "base"), ("alone", "base")),
    }
    (tmp_path / "status").write_text(STATUS)
    packages.main(tmp_path / "status")
    everything, without_lib = closure(pairs), closure({(p, q) for p, q in pairs if p != "base"})
    circles = sum(p == q for p, q in everything)
    first, why, *premises, second, third = capsys.readouterr().out.splitlines()
    assert why.startswith('needs("app", "base") @2 ')
    assert '    depends("app", "lib")' in premises or '    depends("app", "exim")' in premises
    assert first == f"8 dependencies, {len(everything)} with indirect ones, {circles} packages in circles"
    assert second.startswith("without app 3 packages could go; ")
    fewer = len(everything) - len(without_lib)
    assert third == f"6 packages need base; had it no dependencies, {fewer} indirect ones would go"
