"""Queries, subscriptions, metrics, records and sizes: catches numbers that do not add up, and epochs that are lost."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import deltic
from deltic import BusyError, DelticError, Pipeline, Shards
from deltic.cli.main import app
from deltic.duck import in_memory
from deltic.pipeline.epochs.history import ChangeHistory

PROGRAM = """
.decl e(x: number, y: number)
.decl r(x: number, y: number)
r(x, y) :- e(x, y).
r(x, z) :- r(x, y), e(y, z).
"""


@pytest.fixture
def pipeline():
    made = Pipeline()
    made.datalog(PROGRAM)
    made.table("t", {"id": "int64", "Größe": "float64?", "select": "string"})
    with made.transaction() as change:
        change.insert("e", [(1, 2), (2, 3)])
        change.insert("t", [(1, 0.5, "a"), (2, None, "b")])
    return made


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT count(*) FROM r", [(3,)]),
        ("SELECT r.x, t.\"select\" FROM r JOIN t ON r.x = t.id WHERE y = 3 ORDER BY 1", [(1, "a"), (2, "b")]),
        ("FROM t ORDER BY id", [(1, 0.5, "a"), (2, None, "b")]),
        ("SELECT * EXCLUDE (id) FROM t ORDER BY id", [(0.5, "a"), (None, "b")]),
        ("SELECT COLUMNS('i.') FROM T ORDER BY 1", [(1,), (2,)]),
        ("WITH e AS (SELECT 7 AS seven) SELECT seven FROM e", [(7,)]),
        ("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.x = t.id AND r.y = 2)", [(1,)]),
        ("SELECT 1 AS one", [(1,)]),
    ],
)  # fmt: skip
def test_questions_in_the_dialect_of_duckdb(pipeline, query, rows):
    assert list(pipeline.duckdb(query)) == rows
    assert list(pipeline.snapshot().duckdb(query)) == rows


def test_a_query_reads_the_columns_that_it_needs(pipeline, monkeypatch):
    read = []
    version = type(pipeline._version())
    kept = version.read

    def noted(self, name, **options):
        read.append((name, options["columns"]))
        return kept(self, name, **options)

    monkeypatch.setattr(version, "read", noted)
    list(pipeline.duckdb('SELECT sum("Größe") FROM t'))
    assert read == [("t", ["Größe"])]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT * FROM tt", "there is no table or view tt"),
        ("SELECT nothing FROM t", "nothing"),
        ("SELECT", "the query cannot be answered: Parser Error"),
        ("CREATE TABLE x (a INT)", "answers one SELECT"),
        ("SELECT 1; SELECT 2", "answers one SELECT"),
        ("SELECT * FROM pipeline", "there is no table or view pipeline"),
    ],
)
def test_queries_that_are_none(pipeline, query, reason):
    with pytest.raises(DelticError, match=reason):
        pipeline.duckdb(query)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('{}')",
        "SELECT * FROM read_csv('{}')",
        "SELECT * FROM glob('/*')",
        "SELECT t.id FROM t JOIN read_text('{}') ON true",
        "SELECT * FROM 'http://127.0.0.1:9/rows.csv'",
        "SELECT * FROM duckdb_secrets()",
    ],
)
def test_queries_read_no_files_unless_they_may(pipeline, tmp_path, text):
    """Catches a question that reads any file of the machine, as `read_text('/etc/passwd')` did."""
    (tmp_path / "secret.csv").write_text("word\nsecret\n")
    text = text.format(tmp_path / "secret.csv")
    with pytest.raises(DelticError, match="the query cannot be answered: ") as raised:
        pipeline.duckdb(text)
    assert "secret\n" not in str(raised.value)
    if "secret.csv" in text:
        assert "pipeline.duckdb(…, external_access=True) lets a question read files" in str(raised.value)
        assert len(list(pipeline.duckdb(text, external_access=True)))


@pytest.mark.parametrize("setting", ["enable_external_access = true", "TimeZone = 'Asia/Tokyo'"])
def test_no_statement_changes_the_settings_of_duckdb(setting):
    with in_memory() as connection, pytest.raises(duckdb.InvalidInputException, match="has been locked"):
        connection.execute(f"SET {setting}")


def test_connections_to_duckdb_are_made_in_one_place():
    """Catches a connection that is open to files: one that another module makes, or DuckDB's own default one."""
    opened = re.compile(r"\bduckdb\.(?:connect|sql|query|execute|from_\w+|read_\w+|default_connection)\b")
    source = Path(deltic.__file__).parent
    makers = [str(path.relative_to(source)) for path in source.rglob("*.py") if opened.search(path.read_text())]
    assert makers == ["duck.py"]


def add(pipeline, *rows):
    with pipeline.transaction() as change:
        change.insert("e", rows)


def test_a_view_is_followed(pipeline):
    first, later = pipeline.changes("r", since=0), pipeline.changes("r")
    add(pipeline, (3, 4))
    with pipeline.transaction() as change:
        change.insert("t", [(3, 1.0, "c")])
    add(pipeline, (9, 9))
    assert [(c.epoch, c.inserted, c.deleted) for c in first] == [(1, 3, 0), (2, 3, 0), (4, 1, 0)]
    assert [c.epoch for c in later] == [2, 4]
    assert list(first) == []
    assert first.position == pipeline.epoch == 4
    resumed = pipeline.changes("r", since=2)
    assert [sorted(c) for c in resumed] == [[((9, 9), 1)]]
    rows = {row for change in pipeline.changes("r", since=0) for row, weight in change if weight > 0}
    assert rows == set(pipeline["r"])


def test_changes_do_not_lead_from_a_view_to_another_one_of_its_name(pipeline):
    """Catches rows of before that a follower keeps, since nobody has told that they are gone."""
    pipeline.sql("CREATE VIEW v AS SELECT x, y FROM e")
    followed = pipeline.changes("v")
    pipeline.sql("CREATE OR REPLACE VIEW v AS SELECT y AS x, x AS y FROM e")
    before = len(pipeline["v"])
    assert [(c.inserted, c.deleted) for c in followed] == [(before, before)]
    for text in (
        "CREATE OR REPLACE VIEW v AS SELECT x, nullif(y, 7) AS y FROM e",
        "CREATE OR REPLACE VIEW v AS SELECT x, '7' AS y FROM e",
    ):
        position = pipeline.epoch
        followed = pipeline.changes("v")
        pipeline.sql(text)
        with pytest.raises(
            DelticError, match=f"v since epoch {position} do not lead to its rows: with epoch {position + 1}"
        ):
            list(followed)
        assert list(pipeline.changes("v")) == []
    pipeline.drop("v")
    pipeline.sql("CREATE VIEW v AS SELECT x, '7' AS y FROM e")
    with pytest.raises(DelticError, match="it was dropped, or got other columns; read the view as it is"):
        pipeline.changes("v", since=pipeline.epoch - 2)
    assert [c.inserted for c in pipeline.changes("v", since=pipeline.epoch - 1)] == [len(pipeline["v"])]


def test_a_position_is_kept_when_the_reader_stops(pipeline):
    followed = pipeline.changes("r", since=0)
    add(pipeline, (3, 4))
    for change in followed:
        assert change.epoch == 1
        break
    assert followed.position == 0  # epoch 1 was given, and nobody said that it was used
    assert [c.epoch for c in followed] == [1, 2]


def test_a_reader_waits_in_another_thread(pipeline):
    followed, seen = pipeline.changes("r"), []

    def follow():
        while len(seen) < 5 and followed.wait(20):
            seen.extend(change.epoch for change in followed)

    reader = threading.Thread(target=follow)
    reader.start()
    for number in range(10, 15):
        add(pipeline, (number, number))
    reader.join(20)
    assert seen == [2, 3, 4, 5, 6]
    assert not followed.wait(0)


def test_old_and_future_positions(pipeline):
    pipeline._epochs.history = ChangeHistory(pipeline.epoch, epochs=2)
    for number in range(10, 14):
        add(pipeline, (number, number))
    assert [c.epoch for c in pipeline.changes("r", since=3)] == [4, 5]
    with pytest.raises(DelticError, match="since epoch 2 are no longer retained; those since epoch 3 are"):
        pipeline.changes("r", since=2)
    with pytest.raises(DelticError, match="there is no epoch 99 yet: the last one is 5"):
        pipeline.changes("r", since=99)
    with pytest.raises(DelticError, match="e is not a view: it is a table"):
        pipeline.changes("e")
    few = ChangeHistory(0, rows=2)
    few.add(1, change_of(pipeline, (20, 21), (21, 22)))
    assert (few.begin, few.epoch) == (1, 1)


def change_of(pipeline, *rows):
    with pipeline.transaction() as change:
        change.insert("e", rows)
    return change._result.changes


def test_metrics_of_a_view_that_is_another(pipeline):
    pipeline.sql("CREATE VIEW v AS SELECT x FROM e; CREATE VIEW w AS SELECT y FROM e")
    with pipeline.serve_metrics(0) as server:
        pipeline.sql("CREATE OR REPLACE VIEW v AS SELECT 'a' AS text FROM e; DROP VIEW w")
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    assert sample(text, "deltic_view_rows", view="v") == len(pipeline["v"]) > 0
    assert 'deltic_view_rows{view="w"}' not in text


def sample(text, name, **labels):
    """The value of a line of the text format."""
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return float(re.search(rf"^{name}{re.escape('{' + inside + '}' if inside else '')} (\S+)$", text, re.M)[1])


def test_metrics(pipeline):
    with pipeline.serve_metrics(0) as server:
        add(pipeline, (3, 4))
        with pipeline.transaction() as change:
            change.delete("e", [(3, 4)])
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        with pytest.raises(DelticError, match="cannot be served"):
            pipeline.serve_metrics(server.port)
    assert sample(text, "deltic_epoch") == 3
    assert sample(text, "deltic_epochs_total") == 2
    assert sample(text, "deltic_rows_in_total") == 2
    assert sample(text, "deltic_view_rows", view="r") == len(pipeline["r"]) == 3
    assert sample(text, "deltic_view_changes_total", view="r", change="deleted") == 3
    assert sample(text, "deltic_state_bytes", relation="r", role="rows") > 0
    assert all(
        re.fullmatch(r"# (HELP|TYPE) \S+ .+|\w+(\{(\w+=\"[^\"]*\",?)+\})? \S+", line) for line in text.splitlines()
    )
    assert len(pipeline._epochs.observers) == 1


def test_sizes(pipeline):
    found = pipeline.sizes().to_arrow()
    assert found.schema.names == ["relation", "role", "columns", "entries", "bytes"]
    rows = {(r["relation"], r["role"], r["columns"]): r for r in found.to_pylist()}
    assert rows["r", "rows", "x, y"]["entries"] == 3
    assert pa.compute.sum(found["bytes"]).as_py() >= pipeline._epochs.engine.nbytes > 0


def test_records_of_epochs(pipeline, caplog):
    with caplog.at_level(logging.INFO, logger="deltic"):
        add(pipeline, (3, 4))
    (record,) = caplog.records
    assert record.getMessage().startswith("epoch 2: r +3 −0 (1 row in")
    assert record.deltic["changed"] == {"r": [3, 0]}
    assert record.deltic["recursions"][0]["strategy"] == "nested"


def test_a_run_with_records_and_metrics(tmp_path):
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "e.csv").write_text("1,2\n2,3\n")
    options = ["run", str(tmp_path / "p.dl"), "--facts", str(tmp_path), "--out", str(tmp_path / "out"), "--quiet"]
    found = CliRunner().invoke(app, [*options, "--log", "json", "--metrics", "0"])
    assert found.exit_code == 0, found.output
    first, *records = found.stderr.splitlines()
    assert re.fullmatch(r"metrics: http://127\.0\.0\.1:\d+/metrics", first)
    assert json.loads(records[-1])["changed"] == {"r": [3, 0]}


def test_the_phases_of_an_epoch_add_up(pipeline, tmp_path):
    """Those of the engine to its seconds, and all of them to no more than what the caller waited."""
    with Pipeline(state=tmp_path) as kept:
        kept.datalog(PROGRAM)
        with kept.serve_metrics(0) as metrics:
            began = time.perf_counter()
            with kept.transaction() as change:
                change.insert("e", [(n, n + 1) for n in range(50)])
            waited = time.perf_counter() - began
            served = urllib.request.urlopen(f"http://127.0.0.1:{metrics.port}/metrics").read().decode()
    report = change.report
    assert list(report.phases) == [
        *("lateness", "encoding", "evaluation", "version", "keys", "application", "log", "publication")
    ]
    engine = sum(report.phases[phase] for phase in ("encoding", "evaluation", "version"))
    assert min(report.phases.values()) >= 0
    assert 0 < engine <= report.seconds
    assert engine < sum(report.phases.values()) <= waited
    assert 'deltic_phase_seconds_total{phase="evaluation"}' in served
    assert "evaluation" in report._repr_html_()
    shards = Pipeline(engine="spark", shards=Shards(2))
    shards.datalog(PROGRAM)
    with shards.transaction() as change:
        change.insert("e", [(1, 2)])
    assert 0 < change.report.phases["evaluation"] + change.report.phases["version"] <= change.report.seconds
    reference = Pipeline(engine="reference")
    reference.datalog(PROGRAM)
    with reference.transaction() as change:
        change.insert("e", [(1, 2)])
    assert change.report.phases["evaluation"] == change.report.seconds


SHOP = """
CREATE TABLE orders (id INT PRIMARY KEY, who STRING, amount INT);
CREATE TABLE people (who STRING PRIMARY KEY, city STRING);
CREATE VIEW rich AS SELECT o.id, p.city FROM orders o JOIN people p ON o.who = p.who WHERE o.amount > 3;
CREATE VIEW cities AS SELECT city, count(*) AS n FROM rich GROUP BY city;
"""


@pytest.mark.parametrize("options", [{}, {"engine": "spark", "shards": Shards(2)}], ids=["local", "shards"])
def test_the_work_of_an_epoch_is_that_of_its_delta_queries(options):
    """Two counts that are kept apart: by stratum in the report, by query since the engine was made."""
    pipeline = Pipeline(**options)
    pipeline.sql(SHOP)
    change = pipeline.transaction()
    with change:
        change.insert("people", [(f"p{n}", f"c{n % 3}") for n in range(9)])
        change.insert("orders", [(n, f"p{n % 9}", n % 7) for n in range(60)])
    for numbers in (range(5), range(40, 60)):
        before = _visited(pipeline, "rich")
        with (change := pipeline.transaction()):
            change.delete("orders", [(n, f"p{n % 9}", n % 7) for n in numbers])
        work = {name: each for each in change.report.work for name in each.relations}
        assert work["rich"].rows_visited == _visited(pipeline, "rich") - before > 0
        assert sum(each.rows_visited for each in change.report.work) <= change.report.rows_visited
        assert 0 < sum(each.seconds for each in change.report.work) <= change.report.seconds


@pytest.mark.parametrize("options", [{}, {"engine": "spark", "shards": Shards(2)}], ids=["local", "shards"])
def test_the_work_of_an_epoch_leaves_out_what_it_did_not_reach(options):
    pipeline = Pipeline(**options)
    pipeline.sql(SHOP)
    with (change := pipeline.transaction()):
        change.insert("people", [("ada", "Turin")])
    assert change.report.tables == {"people": 1}
    assert "rich" not in change.report.changed
    names = {name for each in change.report.work for name in each.relations}
    assert "rich" in names
    assert "cities" not in names


def test_maintenance_has_what_explain_prints(pipeline):
    relations = pipeline.maintenance("r")
    text = pipeline.explain("r", full=True)
    assert [each.relation for each in relations] == ["e", "r"]
    assert all(each.heading() in text for each in relations)
    queries = [query for each in relations for query in each.queries]
    assert queries
    assert all(line in text for query in queries for line in (query.text, *query.steps, *query.steps_by_groups))
    assert any(query.visited > 0 and query.expected_visited is not None for query in queries)
    with pytest.raises(DelticError, match="absent"):
        pipeline.maintenance("absent")


def test_hidden_relations_are_those_of_the_views_next_above():
    pipeline = Pipeline()
    pipeline.sql(SHOP)
    counts = "(SELECT who, count(*) AS n FROM orders GROUP BY who)"
    pipeline.sql(f"CREATE VIEW many AS SELECT o.id, s.n FROM orders o JOIN {counts} s ON s.who = o.who")
    pipeline.sql(f"CREATE VIEW few AS SELECT o.id, -s.n AS n FROM orders o JOIN {counts} s ON s.who = o.who")
    views = pipeline.views_by_relation()
    assert (views["orders"], views["rich"], views["cities"]) == (("orders",), ("rich",), ("cities",))
    hidden = {each.relation: views[each.relation] for each in pipeline.maintenance("cities") if "%" in each.relation}
    assert ("cities",) in hidden.values()
    assert all("many" not in names for names in hidden.values())
    assert ("many", "few") in views.values(), "what two views need is of both"
    assert set(pipeline.sizes().to_arrow()["relation"].to_pylist()) <= views.keys()


def test_an_epoch_with_a_new_plan_says_what_it_also_stores():
    pipeline = Pipeline()
    pipeline.datalog("""
        .decl e(x: number, y: number)
        .decl mark(x: number)
        .decl o(x: number, w: number)
        .input e, mark
        .output o
        o(x, w) :- mark(x), e(x, y), e(y, z), e(z, w), mark(w).""")
    with pipeline.transaction() as change:
        change.insert("e", [(n // 10, 7 * n % 2_000) for n in range(20_000)])
        change.insert("mark", [(n,) for n in range(100)])
    stored = "o-e-mark(z, w) :- e(z, w), mark(w)"
    assert [line.partition(";")[0] for line in change.report.plan] == [stored]
    assert f"the new plan also stores {stored}" in repr(change.report)
    assert stored in change.report._repr_html_()
    with pipeline.transaction() as change:
        change.insert("mark", [(100,)])
    assert change.report.plan is None


def test_sizes_do_not_wait_for_a_long_epoch(pipeline):
    with pipeline._epochs.writing(), pytest.raises(BusyError):
        _in_thread(lambda: pipeline.sizes(timeout=0.01))


def _in_thread(call):
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(call).result()


def _visited(pipeline, relation):
    (plan,) = (each for each in pipeline.maintenance(relation) if each.relation == relation)
    return sum(query.visited for query in plan.queries)
