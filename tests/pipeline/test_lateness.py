"""Rows that come too late: catches those that get in or are lost, watermarks that fall, and silent drops."""

from __future__ import annotations

import json
import random
import shutil
from datetime import UTC, date, datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

import deltic
from deltic import Pipeline, Transactions
from deltic.cli.main import app
from deltic.errors import ChangeError, LateError

ENGINES = ("local", "reference")


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 1, 1, hour, minute, tzinfo=UTC)


def pipeline_of(engine: str = "local", **options) -> Pipeline:
    pipeline = Pipeline(engine=engine, **options)
    if not len(pipeline):
        pipeline.sql(
            "CREATE TABLE t (k STRING, ts TIMESTAMP LATENESS INTERVAL 1 HOUR);"
            "CREATE VIEW v AS SELECT window.start AS since, count(*) AS n FROM t GROUP BY window(ts, '1 hour')"
        )
    return pipeline


def insert(pipeline: Pipeline, *rows, **options):
    with pipeline.transaction(**options) as change:
        change.insert("t", rows)
    return change


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_before_the_watermark_are_left_out_and_told(engine):
    pipeline = pipeline_of(engine)
    assert pipeline.watermarks == {"t": None}
    first = insert(pipeline, ("a", at(5)), ("b", at(1)), ("none", None))
    assert first.report.late == ()
    assert pipeline.watermarks == {"t": at(4)}
    with pipeline.transaction() as change:
        change.insert("t", [("c", at(3, 59)), ("d", at(4)), ("e", at(9))])
        change.delete("t", [("b", at(1)), ("none", None)])
    (late,) = change.report.late
    assert (late.table, late.column, late.watermark, late.count) == ("t", "ts", at(4), 2)
    assert sorted(late.examples) == [("b", at(1)), ("c", at(3, 59))]
    assert sorted(late.rows.column("__weight__").to_pylist()) == [-1, 1]
    assert change.report.rows_late == 2
    assert change.report.rows_in == 3
    assert "2 late rows of t, with ts before 2026-01-01 04:00:00+00:00" in str(change.report)
    assert pipeline.watermarks == {"t": at(8)}
    assert sorted(pipeline["v"]) == [(at(1), 1), (at(4), 1), (at(5), 1), (at(9), 1)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_watermark_never_falls_and_rows_that_go_do_not_raise_it(engine):
    pipeline = pipeline_of(engine)
    insert(pipeline, ("a", at(5)))
    insert(pipeline, ("b", at(4, 30)))
    assert pipeline.watermarks == {"t": at(4)}
    with pipeline.transaction("trust") as change:
        change.delete("t", [("later", at(20))])
    assert pipeline.watermarks == {"t": at(4)}
    with pipeline.transaction() as change:
        change.delete("t", [("a", at(5))])
    assert pipeline.watermarks == {"t": at(4)}
    assert insert(pipeline, ("late", at(3))).report.rows_late == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_late_rows_may_be_an_error(engine):
    pipeline = pipeline_of(engine)
    insert(pipeline, ("a", at(5)))
    with pytest.raises(LateError, match=r"1 late row of t, with ts before .* nothing was changed"):
        insert(pipeline, ("b", at(1)), ("c", at(9)), late="error")
    assert pipeline.watermarks == {"t": at(4)}
    assert len(pipeline["t"]) == 1
    assert pipeline.epoch == 1
    with pytest.raises(LateError):
        (
            insert(strict := pipeline_of(engine, transactions=Transactions(late="error")), ("a", at(5))),
            insert(strict, ("b", at(1))),
        )
    with pytest.raises(deltic.DelticError, match="policy for late rows"):
        Pipeline(transactions=Transactions(late="maybe"))


def change_with_conflict(change) -> None:
    change.insert("t", [("b", at(9))])
    change.delete("t", [("absent", at(9))])


@pytest.mark.parametrize("engine", ENGINES)
def test_an_epoch_that_is_rejected_or_looked_at_raises_no_watermark(engine):
    pipeline = pipeline_of(engine)
    insert(pipeline, ("a", at(5)))
    wrong = pipeline.transaction()
    with pytest.raises(ChangeError), wrong:
        change_with_conflict(wrong)
    with pipeline.what_if() as change:
        change.insert("t", [("b", at(9)), ("c", at(1))])
        change.preview()
    assert pipeline.watermarks == {"t": at(4)}
    assert insert(pipeline, ("d", at(4, 30))).report.late == ()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("type_", "length", "values", "mark"),
    [
        ("int64", 10, [5, 100, None], 90),
        ("int8", 100, [-100], None),
        ("int8", 100, [0], -100),
        ("date", timedelta(days=2), [date(2026, 1, 1), date(2026, 1, 9)], date(2026, 1, 7)),
        ("timestamp_ntz", timedelta(seconds=1), [datetime(2026, 1, 1)], datetime(2025, 12, 31, 23, 59, 59)),
        ("date", timedelta(days=9), [date(1, 1, 2)], None),
        ("int64", 1, [-(2**63)], None),
    ],
)
def test_times_of_all_types(engine, type_, length, values, mark):
    pipeline = Pipeline(engine=engine)
    pipeline.table("t", {"x": f"{type_}?"}, lateness={"x": length})
    insert(pipeline, *[(value,) for value in values])
    assert pipeline.watermarks == {"t": mark}
    assert insert(pipeline, *[(value,) for value in values], conflicts="normalize").report.rows_late == sum(
        value is not None and mark is not None and value < mark for value in values
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_change_by_key_is_late_as_a_whole(engine):
    pipeline = Pipeline(engine=engine)
    pipeline.table("t", {"k": "int64", "x": "int64"}, key="k", lateness={"x": 10})
    with pipeline.transaction() as change:
        change.insert("t", [(1, 0), (2, 100), (3, 95)])
    with pipeline.transaction() as change:
        change.upsert("t", [(1, 200), (2, 5), (3, 110)])
    assert change.report.rows_late == 4
    assert sorted(pipeline["t"]) == [(1, 0), (2, 100), (3, 110)]
    assert pipeline.watermarks == {"t": 100}
    pipeline.sql("UPDATE t SET x = x + 1")
    assert sorted(pipeline["t"]) == [(1, 0), (2, 101), (3, 111)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_before_the_watermark_is_late_and_not_absent(engine):
    pipeline = Pipeline(engine=engine)
    pipeline.table("t", {"k": "int64", "x": "int64", "y": "string"}, key=("k", "x"), lateness={"x": 10})
    for number in range(3):
        with pipeline.transaction() as change:
            change.insert("t", [(1, 100 * number, "a")])
    with pipeline.transaction() as change:
        change.delete("t", [{"k": 1, "x": 0}, {"k": 1, "x": 200}])
        change.update("t", [{"k": 1, "x": 100, "y": "b"}])
    assert change.report.rows_late >= 2
    assert change.report.rows_in == 1
    with pytest.raises(ChangeError, match="delete by key rows that are absent: k = 2, x = 300"):
        delete_by_key(pipeline, {"k": 2, "x": 300}, {"k": 1, "x": 0})


def delete_by_key(pipeline: Pipeline, *keys: dict[str, int]) -> None:
    with pipeline.transaction() as change:
        change.delete("t", list(keys))


def test_statements_tell_of_late_rows(caplog):
    pipeline = pipeline_of()
    pipeline.sql("INSERT INTO t VALUES ('a', TIMESTAMP'2026-01-01 05:00:00')")
    assert not caplog.records
    told = repr(pipeline.sql("INSERT INTO t VALUES ('b', TIMESTAMP'2026-01-01 01:00:00')"))
    assert told.startswith(
        "no rows changed; left out 1 late row of t, with ts before 2026-01-01 04:00:00+00:00: ('b', "
    )
    (warning,) = caplog.records
    assert (warning.name, warning.levelname) == ("deltic", "WARNING")
    assert warning.getMessage().startswith("epoch 2 left out 1 late row of t, with ts before 2026-01-01 04:00:00")
    explained = pipeline.explain("v")
    assert (
        "t: rows whose ts is more than 1 hour behind the latest are late: now those before 2026-01-01 04" in explained
    )


def test_late_rows_are_counted_and_logged(caplog):
    pipeline = pipeline_of()
    with pipeline.serve_metrics(0) as server, caplog.at_level("INFO", "deltic"):
        insert(pipeline, ("a", at(5)))
        insert(pipeline, ("b", at(1)), ("c", at(2)))
        assert server.port
        import urllib.request

        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
            text = answer.read().decode()
    values = {each.name: each.value for family in text_string_to_metric_families(text) for each in family.samples}
    assert values["deltic_late_rows_total"] == 2
    assert values["deltic_watermark"] == at(4).timestamp()
    assert caplog.records[-1].deltic["late"] == {"t": {"rows": 2, "watermark": str(at(4))}}


def random_epochs(seed: int, count: int):
    """Epochs of insertions and deletions whose times wander upwards, some of them late."""
    draw, now, there = random.Random(seed), 0, []
    for _ in range(count):
        now += draw.randrange(0, 40)
        come = [(draw.choice("abc"), at(0) + timedelta(minutes=max(0, now - draw.randrange(0, 150)))) for _ in range(4)]
        gone = draw.sample(there, min(len(there), draw.randrange(0, 3)))
        there += come
        yield come, gone


@pytest.mark.parametrize("seed", range(2))
def test_a_state_has_the_watermarks_and_its_log_the_drops(tmp_path, seed):
    kept = pipeline_of(state=tmp_path / "state")
    plain = pipeline_of("reference")
    for number, (come, gone) in enumerate(random_epochs(seed, 12)):
        reports = []
        for pipeline in (kept, plain):
            with pipeline.transaction("normalize") as change:
                change.insert("t", come)
                change.delete("t", gone)
            reports.append([(late.watermark, late.count) for late in change.report.late])
        assert reports[0] == reports[1]
        if number == 6:
            kept.checkpoint()
        copy = tmp_path / f"copy{number}"
        shutil.copytree(tmp_path / "state", copy, ignore=shutil.ignore_patterns("lock"))
        with pipeline_of(state=copy) as again:
            assert again.watermarks == kept.watermarks == plain.watermarks
            assert sorted(again["v"]) == sorted(kept["v"]) == sorted(plain["v"])
    kept.close()
    with pipeline_of(state=tmp_path / "state") as again:
        assert again.watermarks == plain.watermarks
        assert insert(again, ("late", at(0))).report.rows_late == 1


def test_run_lists_late_rows(tmp_path):
    program = tmp_path / "p.sql"
    program.write_text(
        "CREATE TABLE t (k STRING, n INT LATENESS 10); CREATE VIEW v AS SELECT k, count(*) AS c FROM t GROUP BY k"
    )
    (tmp_path / "t.csv").write_text("a,100\nb,1\n")
    changes = tmp_path / "changes" / "1"
    changes.mkdir(parents=True)
    (changes / "t.csv").write_text("+,c,5\n+,d,95\n-,b,1\n")
    common = ["run", str(program), "--facts", str(tmp_path), "--changes", str(tmp_path / "changes")]
    done = CliRunner().invoke(app, [*common, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "1: left out 2 late rows of t, with n before 90: ('c', 5), ('b', 1)" in done.output
    assert sorted((tmp_path / "out/late/1/t.tsv").read_text().splitlines()) == ["+\tc\t5", "-\tb\t1"]
    told = CliRunner().invoke(app, [*common, "--out", str(tmp_path / "out"), "--json"])
    late = json.loads(told.stdout)["epochs"][1]["late_rows"]
    assert late == {"t": {"rows": 2, "watermark": "90", "examples": [["c", "5"], ["b", "1"]]}}
    refused = CliRunner().invoke(app, [*common, "--out", str(tmp_path / "out"), "--late", "error"])
    assert refused.exit_code == 1
    assert "2 late rows of t" in refused.output
    assert "--late drop" in refused.output
