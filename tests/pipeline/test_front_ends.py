"""Front ends by name, by file and by entry point. Catches one that is guessed wrong, and errors without a remedy."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

import deltic
from deltic.catalog import CatalogView, FrontEndDefinitions, ViewDefinitions, schema_of
from deltic.circuit import CircuitBuilder
from deltic.circuit import operators as ops
from deltic.errors import CatalogError, DelticError, UnsupportedError
from deltic.pipeline.definitions import front_ends
from tests.cli.conftest import command


@pytest.fixture
def installed(monkeypatch):
    """A function that says which entry points there are, by their names and values."""

    def points(**values: str) -> None:
        found = EntryPoints(EntryPoint(name, value, front_ends.GROUP) for name, value in values.items())
        monkeypatch.setattr(front_ends, "entry_points", found.select)

    return points


@pytest.mark.parametrize(
    ("file", "name"), [("a.sql", "sql"), ("a.SQL", "sql"), ("a.dl", "datalog"), ("a.txt", "datalog"), ("a", "datalog")]
)
def test_a_file_has_the_language_of_its_name(file, name):
    assert front_ends.front_end_of(Path(file)).name == name


def test_a_named_language_comes_before_the_name_of_the_file(tmp_path):
    (tmp_path / "p.txt").write_text("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a + 1 AS b FROM t;")
    pipeline = deltic.Pipeline()
    pipeline.redefine(tmp_path / "p.txt", language="sql")
    assert sorted(pipeline) == ["t", "v"]


def test_programs_are_added_by_the_name_of_their_language():
    pipeline = deltic.Pipeline()
    pipeline.define("CREATE TABLE t (a BIGINT)", "sql")
    evolution = pipeline.define(".decl v(a: number)\nv(a + 1) :- t(a).", "datalog")
    assert list(evolution.added) == ["v"]


@pytest.mark.parametrize(
    "use",
    [
        lambda pipeline, _: pipeline.ddlog("input relation R(x: u8)"),
        lambda pipeline, _: pipeline.define("input relation R(x: u8)", "ddlog"),
        lambda pipeline, file: pipeline.redefine(file),
        lambda pipeline, file: deltic.Pipeline(program=file),
    ],
)
def test_a_package_that_is_not_installed_is_named(installed, tmp_path, use):
    installed()
    file = tmp_path / "p.ddlog"
    file.write_text("input relation R(x: u8)")
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (a INT)")
    with pytest.raises(DelticError, match=r"DDlog is a package of its own.*pip install deltic-ddlog"):
        use(pipeline, file)
    assert list(pipeline) == ["t"]


@pytest.mark.parametrize(
    "arguments",
    [("run", "p.ddlog"), ("explain", "p.ddlog"), ("run", "p.dl", "--language", "ddlog", "--commands", "p.dat")],
)
def test_so_it_is_in_the_shell(installed, tmp_path, monkeypatch, arguments):
    installed()
    monkeypatch.chdir(tmp_path)
    for name in ("p.ddlog", "p.dl", "p.dat"):
        (tmp_path / name).write_text("")
    result = command(*arguments)
    assert (result.status, result.out) == (1, "")
    assert "pip install deltic-ddlog" in result.err


def test_a_state_of_a_language_that_is_not_installed_names_it(installed, tmp_path):
    installed(numbers=f"{__name__}:{Numbers.__name__}")
    with deltic.Pipeline(state=tmp_path) as pipeline:
        pipeline.define("1 2 3", "numbers")
        assert sorted(pipeline["number"]) == [(1,), (2,), (3,)]
    with deltic.Pipeline(state=tmp_path) as pipeline:
        assert sorted(pipeline["number"]) == [(1,), (2,), (3,)]
        with pytest.raises(CatalogError, match="number is part of a Numbers program"):
            pipeline.drop("number")
    installed()
    with pytest.raises(DelticError, match=r"changed by 'numbers', which this Deltic does not know: there is no"):
        deltic.Pipeline(state=tmp_path)


@pytest.mark.parametrize(
    ("value", "said"),
    [("nowhere:X", "cannot be loaded: No module"), ("json:nothing", "cannot be loaded"), ("json:dumps", "no class")],
)
def test_an_entry_point_that_is_none_is_named(installed, value, said):
    installed(odd=value)
    with pytest.raises(DelticError, match=f"the front end odd of a package .*{said}"):
        deltic.Pipeline().define("", "odd")


def test_a_language_that_is_nowhere_is_told_with_the_nearest():
    with pytest.raises(DelticError, match="there is no language datalg; did you mean `datalog`"):
        deltic.Pipeline().define("", "datalg")


def test_options_that_a_language_has_not_are_refused():
    with pytest.raises(CatalogError, match="SQL has no macros"):
        deltic.Pipeline().redefine("CREATE TABLE t (a INT)", macros={"N": "1"})
    with pytest.raises(CatalogError, match="SQL imports no modules"):
        deltic.Pipeline().define("CREATE TABLE t (a INT)", "sql", directories=["lib"])
    with pytest.raises(UnsupportedError, match="programs of SQL have no commands"):
        deltic.Pipeline().command_session("CREATE TABLE t (a INT)", "sql")


class Numbers(front_ends.FrontEnd):
    """A language of numbers with blanks between them, which are the rows of a view."""

    name, title, suffixes = "numbers", "Numbers", (".numbers",)

    def define(self, now, text, file, options=front_ends.NO_OPTIONS):
        builder, schema = CircuitBuilder(), schema_of("number", {"n": "int64"})
        rows = builder.add(ops.Constant(schema, tuple((int(word),) for word in text.split())))
        node = builder.add(ops.Distinct(), rows)
        builder.add(ops.Sink("number"), node)
        view = CatalogView("number", builder.type_of(node), text=text)
        return now.with_part(
            FrontEndDefinitions(self.title, (), (ViewDefinitions((view,), builder.build()),)), self.name, text, file, {}
        )
