"""The command as a whole: catches a run that ends well although a view is wrong, and unreadable failures."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from deltic.demo.epochs import DemoEpoch
from deltic.demo.main import Demo, run
from deltic.demo.replay import Replay, new_pipeline, transact
from deltic.demo.report import Report
from deltic.demo.spark_facts import parse_tree
from deltic.demo.spark_views import QUERIES, recompute_in_spark
from deltic.demo.subject import Subject
from deltic.demo.tree import Tree
from deltic.pipeline.epochs.report import RowCounts
from tests.demo.small import facts_table, library, replay_of
from tests.demo.test_history import Git


@pytest.fixture
def repository(tmp_path):
    git = Git(tmp_path)
    git.commit("first", a=b"import b\ndef f(): b.g()\nif __name__ == '__main__': f()\n", b=b"def g(): pass\n")
    git.commit("make a cycle", b=b"import a\ndef g(): pass\n")
    git.commit("break it", a=b"def f(:\n")
    git.commit("mend it", a=b"import b\n")
    return str(tmp_path)


@pytest.mark.spark
def test_a_history_is_replayed_checked_and_written(spark, repository, tmp_path_factory, capsys):
    out = tmp_path_factory.mktemp("out")
    assert run(repo=repository, out=str(out)) == 0
    printed = capsys.readouterr().out
    assert "an import cycle appears: a → b → a" in printed
    written = len(list((out / "views").iterdir()))
    assert f"Checked row by row: all {written} views" in printed
    imports = pq.read_table(out / "views" / "imports").to_pylist()
    assert sorted((row["module"], row["target"], row["when"]) for row in imports) == [
        ("a", "b", "load"),
        ("b", "a", "load"),
    ]
    assert pq.read_table(out / "views" / "dead").to_pylist() == [{"function": "b:g", "module": "b"}]
    assert (out / "chart.png").exists()


@pytest.mark.slow
@pytest.mark.spark
def test_spark_s_own_views_are_those_of_the_program(spark):
    replay = replay_of(library("json", "importlib", "email"))
    _, found = recompute_in_spark(spark, replay.tables.tables(), replay.pipeline, every_row=True)
    assert [str(difference) for difference in found] == []
    assert all(len(replay.pipeline[view]) for view in set(QUERIES) - {"import_cycle", "in_cycle"})


@pytest.mark.slow
@pytest.mark.spark
def test_the_demo_on_shards_has_equal_results(spark, repository, tmp_path, capsys):
    fields = {}
    for engine in ("auto", "spark"):
        assert run(repo=repository, out=str(tmp_path / engine), json=True, engine=engine) == 0
        fields[engine] = json.loads(capsys.readouterr().out)
    assert fields["spark"]["recomputed by Spark"] == list(QUERIES)
    assert fields["auto"]["recomputed by Spark"] == []
    one, other = ([(e["words"], e["views"], e["rows_in"]) for e in fields[engine]["epochs"]] for engine in fields)
    assert one == other
    for view in (tmp_path / "auto" / "views").iterdir():
        rows = (pq.read_table(tmp_path / engine / "views" / view.name).to_pylist() for engine in fields)
        assert len({frozenset(tuple(row.items()) for row in table) for table in rows}) == 1


@pytest.fixture
def nothing_written(monkeypatch):
    """Spares a test the Parquet files that it does not look at."""
    monkeypatch.setattr(Demo, "write", lambda demo, pipeline: None)


@pytest.mark.spark
@pytest.mark.usefixtures("nothing_written")
def test_json_is_all_of_the_standard_output(spark, repository, tmp_path, capsys):
    assert run(repo=repository, out=str(tmp_path / "out"), commits=2, json=True) == 0
    content = json.loads(capsys.readouterr().out)
    assert [epoch["words"].partition(" ")[2] for epoch in content["epochs"]] == ["everything", "break it", "mend it"]
    assert content["epochs"][1]["views"]["reaches"] == {"inserted": 0, "deleted": 2}
    assert all(epoch["recomputation"] > 0 for epoch in content["epochs"][1:])
    assert content["medians"]["edits"] == 2
    assert content["differences"] == []


@pytest.mark.spark
@pytest.mark.usefixtures("nothing_written")
def test_a_wrong_view_fails_the_command(spark, repository, tmp_path, monkeypatch, capsys):
    def recompute_without_an_import(replay):
        tables = replay.tables.tables()
        fresh = new_pipeline(None)
        _, seconds = transact(fresh, tables | {"imports_module": tables["imports_module"].slice(1)}, {})
        return fresh, seconds

    monkeypatch.setattr(Replay, "recompute", recompute_without_an_import)
    assert run(repo=repository, out=str(tmp_path / "out")) == 1
    printed = capsys.readouterr().out
    assert "FAILED" in printed
    assert "imports: no rows missing, 1 too many" in printed
    assert "Checked row by row" not in printed


@pytest.mark.spark
@pytest.mark.parametrize("in_memory", [False, True])
def test_spark_reads_the_same_facts(spark, in_memory):
    tree = library("json", "re")
    if in_memory:
        tree = Tree({path: tree.source(path).text for path in tree.modules})
    assert sorted(map(str, parse_tree(spark, tree).to_pylist())) == sorted(map(str, facts_table(tree).to_pylist()))


def test_without_java_one_line_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert run(out=str(tmp_path / "out")) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert "Java" in printed.err


def test_a_folder_that_is_no_repository_is_one_line(tmp_path, capsys):
    assert run(repo=str(tmp_path), out=str(tmp_path / "out")) == 1
    assert "not a git repository" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "measured"),
    [(1.0, [*range(1, 13)]), (5.0, [*range(1, 13)]), (10.0, [2, 4, 6, 8, 10, 12]), (24.0, [5, 10, 12]), (500.0, [12])],
)
def test_recomputation_is_measured_as_often_as_its_budget_allows(seconds, measured):
    demo = Demo(Subject("twelve edits", Tree({}), iter(()), 12), Path("out"), Report(Console(quiet=True)))
    demo.add(DemoEpoch(0, "everything", 1, RowCounts(1, 0), {}, seconds))
    for number in range(1, 13):
        affordable = demo.affords_recomputation(number)
        demo.add(DemoEpoch(number, "edit", 1, RowCounts(1, 0), {}, 0.1, seconds if affordable else None))
    assert [epoch.number for epoch in demo.epochs if epoch.recomputation] == measured
