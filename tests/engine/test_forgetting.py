"""What becomes of rows behind watermarks: catches state that grows, and views that are made anew of what is left.

That forgetting changes no view is tested against the reference engine in tests/differential/test_lateness.py.
"""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from deltic import Maintenance, Pipeline
from deltic.cli.main import app
from deltic.engine.executors import forgetting
from deltic.errors import CatalogError
from deltic.pipeline.verifying import verify

HOURLY = "SELECT k, window.start AS since, count(*) AS n, max(x) AS m FROM t GROUP BY k, window(ts, '1 hour')"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


ENGINES = {"local": {}, "shards": {"engine": "spark", "shards": 3}}


@pytest.fixture(params=ENGINES)
def on(request) -> dict[str, object]:
    """The options of a pipeline on one executor after the other."""
    return ENGINES[request.param]


def pipeline_of(
    views: str = f"CREATE VIEW v AS {HOURLY};", late: str = "LATENESS INTERVAL 1 HOUR", **options
) -> Pipeline:
    pipeline = Pipeline(**options)
    if not len(pipeline):
        pipeline.sql(f"CREATE TABLE t (k STRING, ts TIMESTAMP {late}, x BIGINT); CREATE TABLE dim (k STRING, y INT);")
        pipeline.sql(views)
    return pipeline


def rows(first: int, count: int, seconds: int = 60) -> list[tuple[str, datetime, int]]:
    """Rows of `seconds` from one to the next."""
    return [("abc"[n % 3], EPOCH + timedelta(seconds=n * seconds), n % 7) for n in range(first, first + count)]


def feed(pipeline: Pipeline, first: int, count: int, size: int = 50, seconds: int = 60) -> None:
    for start in range(first, first + count, size):
        with pipeline.transaction() as change:
            change.insert("t", rows(start, size, seconds))


def entries(pipeline: Pipeline, *but: str) -> int:
    """What is kept, in entries, without what belongs to some relations."""
    sizes = pipeline.sizes().to_arrow().to_pylist()
    return sum(size["entries"] for size in sizes if size["relation"].split(" on shard ")[0] not in but)


def test_a_table_has_the_rows_from_the_watermark_of_the_epoch_before_on(on):
    pipeline = pipeline_of(**on)
    feed(pipeline, 0, 100)
    assert Counter(pipeline["t"]) == Counter(row for row in rows(0, 100))  # no watermark stood before the second epoch
    feed(pipeline, 100, 50)
    mark = EPOCH + timedelta(minutes=99) - timedelta(hours=1)
    assert Counter(pipeline["t"]) == Counter(row for row in rows(0, 150) if row[1] >= mark)
    assert sum(n for _, _, n, _ in pipeline["v"]) == 150


VIEWS = {
    "windows": f"CREATE VIEW v AS {HOURLY}",
    "distinct": "CREATE VIEW v AS SELECT DISTINCT k, date_trunc('DAY', ts) AS d FROM t",
    "days": "CREATE VIEW v AS SELECT CAST(ts AS DATE) AS d, median(x) AS m, count(DISTINCT x) AS n FROM t GROUP BY 1",
    "hops": "CREATE VIEW v AS SELECT window.start AS w, sum(x) AS n FROM t GROUP BY window(ts, '1 day', '12 hours')",
    "ranks": "CREATE VIEW r AS SELECT k, ts, row_number() OVER (PARTITION BY CAST(ts AS DATE), k ORDER BY ts) AS n "
    "FROM t; CREATE VIEW v AS SELECT CAST(ts AS DATE) AS d, max(n) AS m FROM r GROUP BY 1",
    "tops": "CREATE VIEW v AS SELECT k, ts FROM t "
    "QUALIFY row_number() OVER (PARTITION BY CAST(ts AS DATE) ORDER BY x) < 3",
    "join": "CREATE VIEW j AS SELECT a.k, a.ts FROM t a JOIN t b ON a.ts = b.ts AND a.k = b.k; "
    "CREATE VIEW v AS SELECT CAST(ts AS DATE) AS d, count(*) AS n FROM j GROUP BY 1",
    "absence": "CREATE VIEW a AS SELECT a.ts FROM t a WHERE NOT EXISTS "
    "(SELECT 1 FROM t b WHERE b.ts = a.ts AND b.x > 3); "
    "CREATE VIEW v AS SELECT CAST(ts AS DATE) AS d, count(*) AS n FROM a GROUP BY 1",
}


QUICK = ("windows", "join")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in VIEWS])
def test_state_stays_as_large_as_what_may_still_change(name, on, monkeypatch):
    monkeypatch.setattr(forgetting, "_FEW", 100)
    kept, plain = pipeline_of(VIEWS[name], **on), pipeline_of(VIEWS[name], late="", **on)
    views = [*kept.views]
    sizes = []
    for step in range(5):
        for pipeline in (kept, plain):
            feed(pipeline, step * 1000, 1000, size=200)
        sizes.append((entries(kept, *views), entries(plain, *views)))
    assert all(Counter(kept[view]) == Counter(plain[view]) for view in views)
    assert max(bounded for bounded, _ in sizes) < 3 * sizes[0][0], sizes
    assert 2 * sizes[-1][0] < sizes[-1][1], sizes


UNBOUNDED = {
    "CREATE VIEW v AS SELECT t.ts, dim.y FROM t JOIN dim USING (k)": "v reads them when dim changes",
    "CREATE VIEW v AS SELECT * FROM t": "they are those of view v",
    "CREATE VIEW v AS WITH RECURSIVE r AS (SELECT a.k, b.k AS l FROM t a JOIN t b ON a.ts = b.ts UNION "
    "SELECT r.k, t.k FROM r JOIN t ON r.l = t.k) SELECT * FROM r": "may be recomputed from them",
}


@pytest.mark.parametrize("view", UNBOUNDED)
def test_explain_says_why_rows_are_kept(view, on):
    pipeline = pipeline_of(view, **on)
    feed(pipeline, 0, 300)
    assert UNBOUNDED[view] in pipeline.explain("v")
    assert len(pipeline["t"]) == 300 or "RECURSIVE" in view


def test_a_key_without_the_time_keeps_the_rows(on):
    pipeline = Pipeline(**on)
    pipeline.sql(
        "CREATE TABLE t (n BIGINT PRIMARY KEY, ts BIGINT LATENESS 10); CREATE VIEW v AS SELECT count(*) AS c FROM t"
    )
    for n in range(5):
        with pipeline.transaction() as change:
            change.insert("t", [(n, 100 * n)])
    assert len(pipeline["t"]) == 5
    assert "t: all rows are kept, for its key has no ts" in pipeline.explain("v")


def test_explain_says_what_is_forgotten(on):
    pipeline = pipeline_of(**on)
    feed(pipeline, 0, 300)
    text = pipeline.explain("v")
    assert "t: rows are forgotten whose ts is before the watermark of t" in text
    assert (
        "groups are forgotten whose window_start is before WINDOW_START(the watermark of t, 3600000000, 0, 0)" in text
    )
    assert bool(on) or "the plan stays as it is from now on" in text


def test_a_view_that_comes_later_sees_what_is_left_and_says_so(on):
    pipeline = pipeline_of(**on)
    feed(pipeline, 0, 300)
    left = Counter(row[0] for row in pipeline["t"])
    evolution = pipeline.sql("CREATE VIEW w AS SELECT k, count(*) AS n FROM t GROUP BY k")
    assert repr(evolution).endswith("w sees what is left of t: rows before a watermark were forgotten")
    assert dict(pipeline["w"]) == left
    assert evolution.report.extension.partial == {"w": ("t",)}
    other = pipeline.sql("CREATE VIEW x AS SELECT n FROM v WHERE n > 3")
    assert other.report.extension.partial == {}
    assert sum(n for _, _, n, _ in pipeline["v"]) == 300
    copy = pipeline.sql("CREATE VIEW y AS SELECT * FROM t")
    assert copy.report.extension.partial == {"y": ("t",)}
    feed(pipeline, 300, 300)
    assert sum(n for _, _, n, _ in pipeline["v"]) == 600


def test_views_that_stay_are_not_made_anew(on):
    pipeline = pipeline_of(
        "CREATE VIEW v AS SELECT DISTINCT k, date_trunc('DAY', ts) AS d FROM t;"
        f"CREATE VIEW u AS {HOURLY}; CREATE VIEW w AS SELECT n FROM u WHERE n > 3",
        **on,
    )
    feed(pipeline, 0, 3000, size=500)
    before = {view: Counter(pipeline[view]) for view in pipeline.views}
    pipeline.sql("CREATE VIEW a AS SELECT k, max(d) AS d FROM v GROUP BY k; CREATE VIEW b AS SELECT DISTINCT k FROM t")
    pipeline.sql(f"CREATE VIEW c AS {HOURLY}")
    pipeline.sql("DROP VIEW w")
    pipeline.sql("CREATE VIEW w AS SELECT n FROM u WHERE n > 3")
    assert {view: Counter(pipeline[view]) for view in before} == before


@pytest.mark.parametrize("view", ["SELECT DISTINCT k, ts FROM t", "SELECT t.k, s.x FROM t JOIN s ON t.ts = s.ts"])
def test_a_view_is_not_recomputed_from_what_is_left(view, on):
    pipeline = Pipeline(maintenance=Maintenance(refresh="full"), **on)
    pipeline.sql("CREATE TABLE t (k BIGINT, ts BIGINT LATENESS 5); CREATE TABLE s (x BIGINT, ts BIGINT LATENESS 5)")
    pipeline.sql(f"CREATE VIEW v AS {view}")
    for n in range(5):
        with pipeline.transaction() as change:
            change.insert("t", [(n, 100 * n)])
            change.insert("s", [(n, 100 * n)])
    assert len(pipeline["t"]) < 5
    assert len(pipeline["v"]) == 5


def test_a_view_that_would_be_planned_anew_is_refused(monkeypatch):
    pipeline = pipeline_of()
    feed(pipeline, 0, 300)
    before = Counter(pipeline["v"])

    def tables_alone(old, new, *_):
        return {name: name for name in new.tables.values()}

    monkeypatch.setattr("deltic.engine.executors.inline.program.kept_relations", tables_alone)
    with pytest.raises(CatalogError, match="view v would be planned again, and rows of t that it was computed from"):
        pipeline.sql("CREATE VIEW w AS SELECT DISTINCT k FROM t")
    monkeypatch.undo()
    feed(pipeline, 300, 50)
    assert "w" not in pipeline
    assert before - Counter(pipeline["v"]) == Counter()


def test_a_state_goes_on_with_what_is_left(tmp_path, on):
    kept = pipeline_of(state=tmp_path / "state", **on)
    for step in range(4):
        feed(kept, step * 200, 200)
        if step == 1:
            kept.checkpoint()
        copy = tmp_path / f"copy{step}"
        shutil.copytree(tmp_path / "state", copy, ignore=shutil.ignore_patterns("lock"))
        with pipeline_of(state=copy, **on) as again:
            assert Counter(again["t"]) == Counter(kept["t"])
            feed(again, (step + 1) * 200, 200)
            assert sum(n for _, _, n, _ in again["v"]) == (step + 2) * 200
            assert len(again["t"]) < 200
    kept.close()


def test_verify_compares_what_can_be(tmp_path):
    place = tmp_path / "state"
    with pipeline_of(
        f"CREATE VIEW v AS {HOURLY}; CREATE VIEW d AS SELECT DISTINCT k FROM dim", state=place
    ) as pipeline:
        feed(pipeline, 0, 300)
        with pipeline.transaction() as change:
            change.insert("dim", [("a", 1)])
    found = verify(place, full=True)
    assert (found.views, found.forgotten, found.wrong) == (["d"], {"v": ("t",)}, [])
    told = CliRunner().invoke(app, ["verify", str(place), "--full"])
    assert told.exit_code == 0
    assert "not compared: v, since rows of t were forgotten before their watermarks" in told.output


def test_an_epoch_that_is_taken_back_forgets_nothing(on):
    pipeline = pipeline_of(**on)
    feed(pipeline, 0, 300)
    before = Counter(pipeline["t"])
    with pipeline.what_if() as change:
        change.insert("t", rows(5000, 1))
        assert len(change.preview()["t"]) < len(before)
    assert Counter(pipeline["t"]) == before
    feed(pipeline, 300, 50)
    assert sum(n for _, _, n, _ in pipeline["v"]) == 350
    assert min(row[1] for row in pipeline["t"]) == EPOCH + timedelta(minutes=299) - timedelta(hours=1)


def test_integers_from_end_to_end(on):
    pipeline = Pipeline(**on)
    pipeline.sql("CREATE TABLE t (n BIGINT LATENESS 5); CREATE VIEW v AS SELECT n, count(*) AS c FROM t GROUP BY n")
    values = [-(2**63), -(2**63) + 20, None, -3, 0, 7, 2**63 - 1]
    for value in values:
        with pipeline.transaction() as change:
            change.insert("t", [(value,), (value,)])
    with pipeline.transaction() as change:
        change.insert("t", [(None,), (5,)])
    assert Counter(pipeline["t"]) == Counter({(None,): 3, (2**63 - 1,): 2})
    assert dict(pipeline["v"]) == {**dict.fromkeys(values, 2), None: 3}
