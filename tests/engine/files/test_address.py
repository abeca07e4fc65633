"""Addresses: what is a path of this machine, what belongs to another file system, and what is refused.

Catches a folder called `file:` or `dbfs:` in the working directory, into which a state went without a word.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import deltic
from deltic.cli.main import app
from deltic.engine.files import address
from deltic.engine.files.address import absolute, local_path, path_here
from deltic.errors import DelticError
from deltic.pipeline.connectors.places import reason_of


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("data/x", "data/x"),
        ("a:b", "a:b"),
        (Path("file:/x"), "file:/x"),
        ("/a/x", "/a/x"),
        ("file:/a/x y", "/a/x y"),
        ("file:///a/x%20y", "/a/x y"),
        ("FILE://localhost/a", "/a"),
        ("s3://bucket/x", None),
        ("abfss://c@account/x", None),
    ],
)
def test_what_is_on_this_machine(place, path):
    assert local_path(place) == (None if path is None else Path(path))


def test_the_mount_of_databricks(monkeypatch, tmp_path):
    with pytest.raises(DelticError, match="dbfs:/x: Databricks mounts its file system at /dbfs"):
        local_path("dbfs:/x")
    monkeypatch.setattr(address, "_DBFS", tmp_path)
    assert local_path("dbfs:/a/x") == tmp_path / "a/x"


@pytest.mark.parametrize(("place", "said"), [("s3:/b/x", "s3://b/x"), ("file://host/x", "file:///host/x")])
def test_other_addresses_are_refused_with_what_to_write(place, said):
    with pytest.raises(DelticError, match=said):
        local_path(place)


def test_processes_elsewhere_are_told_absolute_paths(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert absolute("x") == str(tmp_path / "x")
    assert absolute("s3://bucket/x") == "s3://bucket/x"


def test_a_state_and_a_source_at_addresses(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1\n")
    with deltic.Pipeline(state=f"file:{tmp_path}/kept") as pipeline:
        pipeline.table("t", {"a": "int64"}, source=deltic.External("csv", path=f"file://{tmp_path}/in"))
        pipeline.refresh()
        assert list(pipeline["t"]) == [(1,)]
    assert {path.name for path in tmp_path.iterdir()} == {"in", "kept"}
    for state in ("dbfs:/kept", "gs:/kept"):
        with pytest.raises(DelticError, match=state):
            deltic.Pipeline(state=state)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "kept"}


@pytest.mark.parametrize("place", ["dbfs:/x/a.csv", "s3://bucket/a.csv", "ab:/a.csv", Path("s3://bucket/a.csv")])
def test_rows_and_programs_have_paths_here(monkeypatch, tmp_path, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.dl").write_text(".decl a(x: number)\n.output a\na(1).\n")
    pipeline = deltic.Pipeline(program="CREATE TABLE t (a BIGINT)")
    for call in (
        lambda: pipeline.sql("SELECT * FROM t").write(place),
        lambda: pipeline.table("u", deltic.File(place, headers=True)),
        lambda: deltic.Pipeline(program=Path(place).with_suffix(".sql")),
        lambda: deltic.Pipeline(functions=place),
    ):
        with pytest.raises(DelticError, match=r"paths on this machine|Databricks mounts"):
            call()
    done = CliRunner().invoke(app, ["run", "a.dl", "--out", str(place)])
    assert done.exit_code
    assert {path.name for path in tmp_path.iterdir()} == {"a.dl"}


def test_addresses_of_this_machine(tmp_path):
    (tmp_path / "a.csv").write_text("1\n")
    assert path_here(Path(f"file://{tmp_path}/a.csv")) == tmp_path / "a.csv"
    pipeline = deltic.Pipeline(program="CREATE TABLE t (a BIGINT)")
    with pipeline.transaction() as change:
        change.insert("t", deltic.File(f"file:{tmp_path}/a.csv"))
    assert list(pipeline["t"]) == [(1,)]


def test_what_a_library_prints_for_its_developers_is_left_out():
    told = OSError("Generic S3 error: 403 Forbidden\n\nDebug source:\nGeneric {\n    store: S3,\n}")
    assert reason_of(told, "s3://bucket/x") == "it cannot be read: Generic S3 error: 403 Forbidden"
