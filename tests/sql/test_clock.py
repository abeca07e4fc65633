"""Views that ask for the time, after each change and each advance of it, against DuckDB's answers for that time.

Catches a row that crosses the clock a moment too early or too late, or in one direction alone; a row that comes or goes
after it has crossed; a time that goes back; and an advance that costs all rows where few cross.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import duckdb
import pytest
import sqlglot

import deltic
from deltic.errors import DelticError, ProgramError

START = datetime(2024, 1, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
CONDITIONS = (
    "ts > now() - INTERVAL 5 HOURS",
    "ts >= now() - INTERVAL 5 HOURS",
    "ts < current_timestamp",
    "current_timestamp() >= ts",
    "ts BETWEEN now() - INTERVAL 3 HOURS AND now() + INTERVAL 2 HOURS AND k > 1",
    "now() - ts < INTERVAL 4 HOURS",
    "d = current_date",
    "d >= current_date - 1",
    "ts > date_trunc('DAY', now())",
    "ts > now() OR k = 2",
)
SHAPES = (
    "SELECT k, ts FROM t WHERE {}",
    "SELECT k, count(*) AS n FROM t WHERE {} GROUP BY k",
    "SELECT a.k FROM t a JOIN t b ON a.k = b.k WHERE {}",
    "SELECT k FROM t WHERE k IN (SELECT k FROM t WHERE {})",
)
QUERIES = [
    *(SHAPES[i % 2].format(condition) for i, condition in enumerate(CONDITIONS)),
    SHAPES[2].format("a.ts > now() - INTERVAL 5 HOURS AND b.ts <= now()"),
    SHAPES[3].format("ts <= now()"),
    "SELECT count(*) AS n, max(now()) AS m FROM t WHERE ts > now()",
    "SELECT k, now() AS n, max(d) = current_date AS c FROM t GROUP BY k HAVING min(ts) < now()",
]


def plain(row):
    """Instants as they are in UTC."""
    return tuple(v.astimezone(UTC) if isinstance(v, datetime) and v.tzinfo else v for v in row)


class Reference:
    """The same table in DuckDB, which is told the time."""

    def __init__(self):
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("SET TimeZone = 'UTC'; CREATE TABLE t (k INT, ts TIMESTAMPTZ, d DATE)")

    def set(self, rows):
        self.connection.execute("DELETE FROM t")
        if rows:
            self.connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)

    def answer(self, query, now):
        for name in ("current_timestamp()", "current_timestamp", "now()", "current_date"):
            query = query.replace(name, f"CAST('{now}' AS {'DATE' if 'date' in name else 'TIMESTAMP'})")
        shown = sqlglot.transpile(query, read="spark", write="duckdb")[0]
        return Counter(map(plain, self.connection.execute(shown).fetchall()))


def random_row(rng, now):
    ts = None if rng.random() < 0.1 else now + rng.randint(-8, 8) * HOUR
    return rng.randint(1, 3), ts, None if rng.random() < 0.1 else (now + rng.randint(-60, 60) * HOUR).date()


@pytest.mark.parametrize("seed", range(2))
def test_views_follow_the_time(seed):
    rng, now, rows, reference = random.Random(seed), START, Counter(), Reference()
    pipeline = deltic.Pipeline(transactions=deltic.Transactions(now=START))
    pipeline.sql("CREATE TABLE t (k INT, ts TIMESTAMP, d DATE)")
    for number, query in enumerate(QUERIES):
        pipeline.sql(f"CREATE VIEW v{number} AS {query}")
    for _ in range(8):
        if rng.random() < 0.5:
            now += rng.randint(0, 9) * HOUR
            pipeline.advance(to=now)
        come = [random_row(rng, now) for _ in range(rng.randint(0, 5))]
        gone = rng.sample(sorted(rows.elements(), key=repr), min(rows.total(), rng.randint(0, 3)))
        with pipeline.transaction() as change:
            change.insert("t", come)
            change.delete("t", gone)
        rows = rows + Counter(come) - Counter(gone)
        reference.set(list(rows.elements()))
        for number, query in enumerate(QUERIES):
            found = Counter(plain(row.values()) for row in pipeline[f"v{number}"].to_arrow().to_pylist())
            assert found == reference.answer(query, now), (seed, now, query, rows)


def test_an_advance_costs_the_rows_that_cross():
    pipeline = deltic.Pipeline(transactions=deltic.Transactions(now=START))
    pipeline.sql(
        "CREATE TABLE t (k INT, ts TIMESTAMP); CREATE VIEW v AS SELECT k FROM t WHERE ts < now() - INTERVAL 1 DAY"
    )
    with pipeline.transaction() as change:
        change.insert("t", [(n, START + n * timedelta(minutes=1)) for n in range(20_000)])
    report = pipeline.advance(START + timedelta(days=1, minutes=3)).report
    assert (report.changed["v"].inserted, report.rows_in) == (3, 0)
    assert report.rows_visited < 30
    assert "keeps the window alone" in pipeline.explain("v")


def test_time_is_that_of_the_machine_and_never_goes_back():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (ts TIMESTAMP); CREATE VIEW v AS SELECT now() AS n")
    before = datetime.now(UTC)
    pipeline.advance()
    ((shown,),) = pipeline["v"]
    assert before <= shown <= datetime.now(UTC)
    pipeline.advance(to="2999-01-01")
    pipeline.sql("INSERT INTO t VALUES (now())")
    ((shown,),) = pipeline["v"]
    assert shown == datetime(2999, 1, 1, tzinfo=UTC)
    with pytest.raises(DelticError, match="time does not go back: it is 2999-01-01"):
        pipeline.advance(to="2998-01-01T00:00:00")
    with pytest.raises(DelticError, match="'noon' is no time"):
        pipeline.advance(to="noon")


def test_the_clock_is_hidden_and_comes_with_the_first_view_that_asks():
    pipeline = deltic.Pipeline(transactions=deltic.Transactions(now=START))
    pipeline.sql("CREATE TABLE t (ts TIMESTAMP); INSERT INTO t VALUES (TIMESTAMP '2024-01-01')")
    evolution = pipeline.sql("CREATE VIEW v AS SELECT ts < now() AS c FROM t UNION ALL SELECT TRUE")
    assert str(evolution) == "added v; kept t"
    assert evolution.of("v").to_arrow().to_pylist() == [{"c": True, "__weight__": 2}]
    assert list(pipeline) == ["t", "v"]
    assert pipeline.sql("SHOW TABLES").to_arrow().column("tableName").to_pylist() == ["t", "v"]
    assert [row["n"] for row in pipeline.sql("SELECT now() AS n").to_arrow().to_pylist()] == [START]


def test_a_state_keeps_the_time(tmp_path):
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.sql("CREATE TABLE t (ts TIMESTAMP); INSERT INTO t VALUES (TIMESTAMP '2024-01-01')")
        pipeline.sql("CREATE VIEW v AS SELECT ts FROM t WHERE ts > now() - INTERVAL 1 DAY")
        pipeline.advance(to="2999-01-01")
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        with pytest.raises(DelticError, match="time does not go back"):
            pipeline.advance(to="2998-01-01")
        assert not list(pipeline["v"])


def test_where_the_time_cannot_stand():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (ts TIMESTAMP, k INT)")
    with pytest.raises(ProgramError, match=r"k is int32.*, which no time is compared with"):
        pipeline.sql("CREATE VIEW v AS SELECT k FROM t WHERE k < now()")
    with pytest.raises(ProgramError, match="current_user is not supported in a view"):
        pipeline.sql("CREATE VIEW v AS SELECT current_user() AS u FROM t")


def test_statements_know_the_time_before_any_view_asks():
    pipeline = deltic.Pipeline(transactions=deltic.Transactions(now=START))
    pipeline.sql("CREATE TABLE t (ts TIMESTAMP); INSERT INTO t VALUES (now()), (now() - INTERVAL 1 HOUR)")
    pipeline.sql("DELETE FROM t WHERE ts < current_timestamp()")
    assert [row.ts for row in pipeline["t"]] == [START]
