"""RANGE frames over intervals, and samples in pipes: the answers are those of Spark 4.3."""

from __future__ import annotations

import random
from typing import Any

import pytest

import deltic

DAYS = "(SELECT a, make_dt_interval(a) AS d FROM t)"
HOURS = "(SELECT a, make_dt_interval(0, a) AS d FROM t)"
MONTHS = "(SELECT a, CASE WHEN a < 3 THEN make_ym_interval(1, a) END AS d FROM t)"
SPARK: dict[str, list[Any]] = {
    f"SELECT a, sum(a) OVER (ORDER BY d RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW) FROM {DAYS}": [
        *[(1, 1), (2, 3), (3, 5)]
    ],
    "SELECT a, sum(a) OVER (ORDER BY d DESC RANGE BETWEEN INTERVAL '1' DAY PRECEDING "
    f"AND INTERVAL '1' HOUR FOLLOWING) FROM {HOURS}": [(1, 6), (2, 6), (3, 5)],
    f"SELECT a, sum(a) OVER (ORDER BY d RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND CURRENT ROW) FROM {MONTHS}": [
        *[(1, 1), (2, 3), (3, 3)]
    ],
    "FROM t |> TABLESAMPLE (100 PERCENT) |> SELECT a": [(1,), (2,), (3,)],
    "FROM t |> TABLESAMPLE (2 ROWS) |> SELECT a": [(1,), (2,)],
    "FROM t |> TABLESAMPLE (0 PERCENT) |> SELECT a": [],
    "FROM t |> WHERE a > 1 |> TABLESAMPLE (1 ROWS)": [(2,)],
}


@pytest.mark.parametrize("text", SPARK)
def test_answers_of_spark(text: str) -> None:
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2), (3)")
    assert sorted(map(tuple, pipeline.query(text))) == SPARK[text]


def test_a_distance_of_another_kind_is_refused() -> None:
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (a INT)")
    text = f"SELECT sum(a) OVER (ORDER BY d RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND CURRENT ROW) FROM {DAYS}"
    with pytest.raises(deltic.ProgramError, match="a distance in values of INTERVAL DAY TO SECOND cannot be that"):
        pipeline.query(text)
    with pytest.raises(deltic.ProgramError, match="TABLESAMPLE is not supported"):
        pipeline.query("FROM t |> TABLESAMPLE (10 PERCENT)")


def test_views_over_intervals_follow_their_rows() -> None:
    rng = random.Random(26)
    engines: list[Any] = ["local", "reference"]
    pipelines = [deltic.Pipeline(engine=engine) for engine in engines]
    for pipeline in pipelines:
        pipeline.sql(
            """
            CREATE TABLE t (a INT, h INT);
            CREATE VIEW v AS SELECT a,
                sum(a) OVER (ORDER BY d RANGE BETWEEN INTERVAL '3' HOUR PRECEDING AND INTERVAL '1' HOUR FOLLOWING) AS s,
                count(*) OVER (ORDER BY m DESC RANGE BETWEEN INTERVAL '2' MONTH PRECEDING AND CURRENT ROW) AS n
            FROM (SELECT a, make_dt_interval(0, h) AS d, make_ym_interval(0, h) AS m FROM t);
            """
        )
    for _ in range(12):
        row = rng.randrange(20), rng.choice([None, *range(-6, 7)])
        inserts = ["INSERT INTO t VALUES (?, ?)"] * 2
        change = rng.choice([*inserts, "DELETE FROM t WHERE a < ? AND h > ?"])
        results = []
        for pipeline in pipelines:
            pipeline.execute(change, list(row))
            results.append(sorted(map(str, pipeline["v"])))
        assert results[0] == results[1]
