"""Forgetting against never forgetting: catches rows that go while something may still touch or read them.

The reference engine leaves out the same late rows, and keeps all others; views and their changes are to be equal.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deltic import Pipeline, Shards
from deltic.engine.executors import forgetting
from deltic.engine.executors.spark import costs
from deltic.errors import ChangeError
from tests.engine.executors.shards.jobs import only_jobs_here
from tests.pipeline.test_shards import Session

TABLES = """
CREATE TABLE t (k STRING, ts TIMESTAMP LATENESS INTERVAL 1 HOUR, x BIGINT);
CREATE TABLE s (ts TIMESTAMP NOT NULL LATENESS INTERVAL 2 HOURS, k STRING, x BIGINT);
CREATE TABLE u (k STRING, ts TIMESTAMP LATENESS INTERVAL 30 MINUTES, x BIGINT, PRIMARY KEY (k));
CREATE TABLE w (k STRING, ts TIMESTAMP LATENESS INTERVAL 30 MINUTES, x BIGINT, PRIMARY KEY (k, ts));
CREATE TABLE dim (k STRING, x BIGINT);
"""
ON = "t.k = s.k AND s.ts BETWEEN t.ts - INTERVAL 20 MINUTES AND t.ts + INTERVAL 10 MINUTES"
QUERIES = (
    "SELECT k, window.start AS since, count(*) AS n, max(x) AS m FROM t GROUP BY k, window(ts, '1 hour')",
    "SELECT window.start AS since, sum(x) AS n FROM {a} GROUP BY window(ts, '1 hour', '20 minutes')",
    "SELECT window_end, k, median(x) AS n FROM TUMBLE(TABLE {a}, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY 1, 2",
    "SELECT DISTINCT k, date_trunc('HOUR', ts) AS h FROM {a}",
    "SELECT DISTINCT ts FROM {a} UNION SELECT ts FROM {b}",
    "SELECT CAST(ts AS DATE) AS d, k, count(DISTINCT x) AS n FROM {a} GROUP BY 1, 2 HAVING count(*) > 1",
    "SELECT year(ts) AS y, min(x) AS n FROM {a} GROUP BY 1",
    f"SELECT t.k, t.ts, s.x FROM t JOIN s ON {ON}",
    f"SELECT t.k, t.ts, s.x FROM t LEFT JOIN s ON {ON}",
    "SELECT a.k, a.ts, b.x FROM {a} a LEFT JOIN {b} b ON a.ts = b.ts AND a.k = b.k",
    "SELECT a.ts + INTERVAL 5 MINUTES AS ts, sum(b.x) AS n FROM {a} a FULL JOIN {b} b ON a.ts = b.ts GROUP BY 1",
    "SELECT * FROM {a} WHERE NOT EXISTS (SELECT 1 FROM {b} b WHERE b.ts = {a}.ts AND b.x > {a}.x)",
    "SELECT a.k, b.ts, a.x FROM {a} a JOIN {b} b ON b.ts = a.ts + INTERVAL 15 MINUTES AND a.k = b.k",
    "SELECT ts, k FROM {a} INTERSECT SELECT ts, k FROM {b}",
    "SELECT ts, k FROM {a} EXCEPT ALL SELECT ts, k FROM {b}",
    "SELECT {a}.ts, dim.x FROM {a} JOIN dim USING (k)",
    "SELECT * FROM {a}",
    "SELECT k, ts, row_number() OVER (PARTITION BY k, date_trunc('HOUR', ts) ORDER BY x, ts) AS n FROM {a}",
    "SELECT k, ts, sum(x) OVER (PARTITION BY k ORDER BY ts) AS n FROM {a}",
    "SELECT k, ts, x FROM {a} QUALIFY row_number() OVER (PARTITION BY date_trunc('HOUR', ts) ORDER BY x, k, ts) <= 2",
    "SELECT k, session_window.start AS since, count(*) AS n FROM {a} GROUP BY k, session_window(ts, '10 minutes')",
    "SELECT count(*) AS n, max(ts) AS m FROM {a}",
    "SELECT a.k, a.ts, b.ts AS other FROM {a} a JOIN {b} b ON a.k = b.k AND b.ts > a.ts",
    "WITH RECURSIVE r AS (SELECT k, ts FROM {a} UNION SELECT k, ts + INTERVAL 1 HOUR FROM r WHERE hour(ts) < 3) "
    "SELECT * FROM r",
)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
Row = tuple[object, ...]


def program(draw: random.Random) -> str:
    """Tables, and views over them, and over each other."""
    views = []
    for number in range(draw.randrange(1, 5)):
        chosen = dict(zip("ab", draw.sample("tsuw", 2), strict=True))
        views.append(f"CREATE VIEW v{number} AS {draw.choice(QUERIES).format(**chosen)};")
    if draw.random() < 0.5:
        views.append(
            "CREATE VIEW hourly AS SELECT date_trunc('HOUR', ts) AS ts, k, count(*) AS n FROM t GROUP BY 1, 2;"
        )
        views.append("CREATE VIEW later AS SELECT h.ts, h.k, s.x FROM hourly h JOIN s ON h.ts = s.ts;")
    return TABLES + "\n".join(views)


def changes(
    draw: random.Random, now: int, there: dict[str, list[Row]], marks: dict[str, datetime | None]
) -> Iterator[tuple[str, list[Row], list[Row]]]:
    """Rows that come and go, about a time or about the watermark, some of them late, some of the distant past."""
    for table in draw.sample("tsuw", draw.randrange(1, 5)):
        come = []
        for _ in range(draw.randrange(0, 6)):
            if marks[table] is not None and draw.random() < 0.5:
                ts = marks[table] + timedelta(minutes=5 * draw.randrange(-1, 6))
            else:
                ts = EPOCH + timedelta(minutes=max(0, now - draw.randrange(draw.choice((1, 6, 21, 91, 301)))) // 5 * 5)
            k, x = draw.choice("abc") + ("" if table != "u" else str(draw.randrange(30))), draw.randrange(5)
            come.append((ts, k, x) if table == "s" else (k, ts if draw.random() < 0.95 or table == "w" else None, x))
        gone = draw.sample(there[table], min(len(there[table]), draw.randrange(0, 4)))
        there[table] += come
        yield table, come, gone
    if draw.random() < 0.3:
        yield "dim", [(draw.choice("abc"), draw.randrange(9))], []


def apply(pipeline: Pipeline, parts: list[tuple[str, list[Row], list[Row]]]) -> object:
    """What an epoch tells: the changes of views, and what was late; or the error that it has."""
    try:
        with pipeline.transaction("normalize") as change:
            for table, come, gone in parts:
                change.insert(table, come)
                change.delete(table, gone)
    except ChangeError:
        return "refused"
    views = {view: Counter(dict(_weighted(change.of(view).to_arrow()))) for view in pipeline.views}
    return views, sorted((late.table, str(late.watermark), late.count) for late in change.report.late)


def _weighted(rows) -> Iterator[tuple[Row, int]]:
    *columns, weights = (column.to_pylist() for column in rows.columns)
    return zip(zip(*columns, strict=True), weights, strict=True)


ENGINES = ("local", "shards", "tasks")
FEW = {"tasks": -1, "parts": 40}
"""The most work of a change that is no job."""


@pytest.fixture(autouse=True)
def _groups_go_at_once(monkeypatch):
    monkeypatch.setattr(forgetting, "_FEW", 1)
    only_jobs_here(monkeypatch)


def pipeline_on(engine: str, directory: Path) -> Pipeline:
    """A pipeline in one store, on shards in this process, or on shards whose epochs, or parts of them, are jobs."""
    if engine in FEW:
        return Pipeline(Session(), engine="spark", shards=Shards(3, directory=directory, executor="job"))
    return Pipeline(engine="spark", shards=3) if engine == "shards" else Pipeline()


def compare(seed: int, epochs: int, kept: Pipeline) -> None:
    draw = random.Random(seed)
    text, now, there = program(draw), 0, {table: [] for table in "tsuw"}
    plain = Pipeline(engine="reference")
    for pipeline in (kept, plain):
        pipeline.sql(text)
    for epoch in range(epochs):
        now += draw.choice((0, 1, 10, 30, 200))
        marks = kept.watermarks
        assert marks == plain.watermarks
        parts = list(changes(draw, now, there, marks))
        assert apply(kept, parts) == apply(plain, parts), f"seed {seed}, epoch {epoch}:\n{text}"
    for view in kept.views:
        assert Counter(kept[view]) == Counter(plain[view]), f"seed {seed}, {view}:\n{text}"
    for table, mark in kept.watermarks.items():
        rows, all_rows = Counter(kept[table]), Counter(plain[table])
        at = 0 if table == "s" else 1
        assert rows <= all_rows
        gone = all_rows - rows
        assert all(row[at] is not None and mark is not None and row[at] < mark for row in gone)


@pytest.mark.parametrize("engine", [*ENGINES, "parts"])
@pytest.mark.parametrize("seed", range(4))
def test_forgetting_changes_no_view(seed, engine, tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "FEW", FEW.get(engine, -1))
    compare(seed, 12, pipeline_on(engine, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("engine", [*ENGINES, "parts"])
@pytest.mark.parametrize("seed", range(1000, 1030))
def test_forgetting_changes_no_view_of_many(seed, engine, tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "FEW", FEW.get(engine, -1))
    compare(seed, 16, pipeline_on(engine, tmp_path))


@pytest.mark.parametrize("seed", range(3))
def test_all_executors_forget_the_same_rows(seed, tmp_path):
    draw = random.Random(seed)
    text, now, there = program(draw), 0, {table: [] for table in "tsuw"}
    pipelines = [pipeline_on(engine, tmp_path) for engine in ENGINES]
    for pipeline in pipelines:
        pipeline.sql(text)
    for _ in range(10):
        now += draw.choice((0, 1, 10, 30, 200))
        parts = list(changes(draw, now, there, pipelines[0].watermarks))
        for pipeline in pipelines:
            apply(pipeline, parts)
        for table in "tsuw":
            rows = [Counter(pipeline[table]) for pipeline in pipelines]
            assert rows[0] == rows[1] == rows[2]
