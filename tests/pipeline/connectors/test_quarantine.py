"""Sources that fail while others are refreshed.

Catches a bad file that keeps all tables from their news, rows of a failed source that come or go all the same, a
failure that nobody is told of, and one that is forgotten, or never tried again.
"""

from __future__ import annotations

import datetime as dt
import json

import pytest

import deltic
from deltic.cli.refresh import refresh_command
from deltic.cli.state import status_command
from deltic.errors import ChangeError, DataError, DelticError
from deltic.pipeline.connectors import quarantine

SQL = """
CREATE TABLE a (x BIGINT, y BIGINT) USING csv LOCATION '{0}/a';
CREATE TABLE b (x BIGINT PRIMARY KEY, y BIGINT) USING csv LOCATION '{0}/b';
CREATE TABLE c (x BIGINT, y BIGINT) USING csv LOCATION '{0}/c';
CREATE VIEW together AS SELECT x, a.y AS ay, b.y AS by FROM a JOIN b USING (x)
"""


@pytest.fixture
def place(tmp_path):
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.csv").write_text("1,1\n2,2\n")
    return tmp_path


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        time = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    monkeypatch.setattr("deltic.pipeline.refreshing.now", lambda: Clock.time)
    return Clock


def opened(place):
    pipeline = deltic.Pipeline(state=place / "state")
    if "a" not in pipeline:
        pipeline.sql(SQL.format(place))
    return pipeline


def rows(pipeline, *names):
    return [sorted(pipeline[name]) for name in names]


@pytest.mark.parametrize(
    ("table", "text", "reason"),
    [("a", "3,x\n", "a/1.csv:1"), ("b", "2,9\n", "several rows would have the key"), ("c", "3\n", "expected 2 fields")],
)
def test_others_are_refreshed(place, table, text, reason):
    with opened(place) as pipeline:
        before = rows(pipeline, "a", "b", "c")
        for name in "abc":
            (place / name / "1.csv").write_text("3,3\n" if name != table else text)
        report = pipeline.refresh()
        assert list(report.failed) == [table]
        assert reason in report.failed[table].reason
        assert report.failed[table].count == 1
        first, second = str(report).splitlines()[:2]
        assert first.startswith(f"epoch {report.epoch}: ")
        assert second.startswith(f"{table}: failed since")
        assert set(report.sources) == set("abc") - {table}
        assert rows(pipeline, "a", "b", "c") == [
            old if name == table else [*old, (3, 3)] for name, old in zip("abc", before, strict=True)
        ]
    with opened(place) as again:
        (place / table / "1.csv").write_text("4,4\n")
        report = again.refresh()
        assert not report.failed
        assert (4, 4) in rows(again, table)[0]


def test_a_source_that_is_gone_is_tried_again_after_longer_and_longer_times(place, clock):
    pipeline = opened(place)
    (place / "a" / "0.csv").rename(place / "kept")
    (place / "a").rmdir()
    waits = []
    for _ in range(9):
        failure = pipeline.refresh().failed["a"]
        waits.append((dt.datetime.fromisoformat(failure.retry) - clock.time).total_seconds())
        clock.time = dt.datetime.fromisoformat(failure.retry)
    assert waits == [0, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert failure.count == 9
    assert failure.since == "2026-01-01T00:00:00+00:00"


def test_a_source_that_waits_is_not_read_unless_it_is_named(place, clock):
    pipeline = opened(place)
    (place / "a" / "1.csv").write_text("wrong\n")
    for _ in range(2):
        pipeline.refresh()
    (place / "a" / "1.csv").write_text("5,5\n")
    (place / "c" / "1.csv").write_text("5,5\n")
    report = pipeline.refresh()
    assert list(report.failed) == ["a"]
    assert "a" not in report.sources
    assert (5, 5) in rows(pipeline, "c")[0]
    report = pipeline.refresh(tables=["a"])
    assert list(report.sources) == ["a"]
    assert not report.failed
    assert (5, 5) in rows(pipeline, "a")[0]


def test_the_error_is_raised_where_all_fail(place):
    pipeline = opened(place)
    epoch = pipeline.epoch
    (place / "a" / "1.csv").write_text("wrong\n")
    with pytest.raises(DataError, match=r"a/1\.csv"):
        pipeline.refresh(tables=["a"])
    (place / "b" / "1.csv").write_text("1,7\n")
    with pytest.raises(ChangeError):
        pipeline.refresh(tables=["b"])
    with pytest.raises(DelticError, match="there is no table with a source"):
        pipeline.refresh(tables=["nothing"])
    assert pipeline.epoch == epoch


def test_the_command_names_what_failed(place, capsys):
    (place / "program.sql").write_text(SQL.format(place))
    (place / "p.yml").write_text(f"program: program.sql\nstate: {place}/state\n")
    assert refresh_command(place / "p.yml", False, None, False, False) == 0
    (place / "a" / "1.csv").write_text("wrong\n")
    (place / "b" / "1.csv").write_text("3,3\n")
    capsys.readouterr()
    assert refresh_command(place / "p.yml", False, None, False, True) == 1
    content = json.loads(capsys.readouterr().out)
    assert not content["ok"]
    assert list(content["failed"]) == ["a"]
    status_command(f"{place}/state", False)
    assert "source of a: failed since" in capsys.readouterr().out
    status_command(f"{place}/state", True)
    assert "a/1.csv" in json.loads(capsys.readouterr().out)["failed"]["a"]["reason"]
    assert refresh_command(place / "p.yml", False, ["b"], False, False) == 1
    (place / "a" / "1.csv").write_text("3,3\n")
    assert refresh_command(place / "p.yml", False, None, False, False) == 0


def test_positions_of_failures():
    failure = quarantine.SourceFailure.after(None, "why", dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    positions = {"failed a": failure.position, "failed b": None, "source c": {}}
    assert quarantine.failed_sources(positions) == {"a": failure}
