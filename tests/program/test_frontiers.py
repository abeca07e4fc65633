"""Frontiers: catches bounds that are too great by an interval, a window or a reader, and those that are not found."""

from __future__ import annotations

import pytest

from deltic import Pipeline
from deltic.program.compiling import program_of
from deltic.program.frontiers import frontiers, shown, watermarks

TABLES = """
CREATE TABLE t (k STRING, ts TIMESTAMP LATENESS INTERVAL 1 HOUR, n INT);
CREATE TABLE s (k STRING, ts TIMESTAMP LATENESS INTERVAL 2 HOURS, n INT);
CREATE TABLE i (n INT LATENESS 5, k STRING);
CREATE TABLE dim (k STRING, n INT);
"""
T, S = "the watermark of t", "the watermark of s"
MINUTE = 60_000_000


def ago(mark: str, minutes: int, sign: str = "-") -> str:
    return f"{mark} {sign} INTERVAL '{minutes * MINUTE}' MICROSECOND"


def least(*bounds: str) -> str:
    return f"the least of {', '.join(sorted(bounds))}"


ROWS = {
    "SELECT t.k FROM t JOIN s ON t.ts = s.ts": {"t": least(T, S), "s": least(T, S)},
    "SELECT t.k FROM t JOIN s ON s.ts BETWEEN t.ts - INTERVAL 20 MINUTES AND t.ts + INTERVAL 10 MINUTES": {
        "t": least(T, ago(S, 10)),
        "s": least(S, ago(T, 20)),
    },
    "SELECT t.k FROM t JOIN s ON s.ts > t.ts": {"s": least(S, T)},
    "SELECT t.k FROM t JOIN s ON s.ts = t.ts + INTERVAL 3 MINUTES": {
        "t": least(T, ago(S, 3)),
        "s": least(S, ago(T, 3, "+")),
    },
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.ts = t.ts)": {"t": least(T, S), "s": least(T, S)},
    "SELECT t.k FROM t JOIN dim ON t.k = dim.k": {},
    "SELECT a.k FROM t a JOIN t b ON a.k = b.k": {},
    "SELECT DISTINCT k FROM t": {"t": T},
    "SELECT k FROM t WHERE n > 3": {"t": T},
    "SELECT i.k FROM i JOIN t ON i.n = t.n": {},
    "SELECT n + 1 AS m, count(*) AS c FROM i GROUP BY 1": {"i": "the watermark of i"},
}
GROUPS = {
    "SELECT count(*) AS c FROM t GROUP BY window(ts, '1 hour')": f"WINDOW_START({T}, 3600000000, 0, 0)",
    "SELECT count(*) AS c FROM t GROUP BY window(ts, '1 hour', '20 minutes')": f"WINDOW_START({T}, 1200000000, 0, 2)",
    "SELECT count(*) AS c FROM t GROUP BY k, CAST(ts AS DATE)": f"CAST({T} AS DATE)",
    "SELECT count(*) AS c FROM t GROUP BY ts - INTERVAL 5 MINUTES": ago(T, 5),
    "SELECT count(*) AS c FROM t JOIN s ON t.ts = s.ts GROUP BY t.ts": least(T, S),
    "SELECT n + 1 AS m, count(*) AS c FROM i GROUP BY 1": "the watermark of i + 1",
    "SELECT 5 - n AS m, count(*) AS c FROM i GROUP BY 1": None,
    "SELECT hour(ts) AS h, count(*) AS c FROM t GROUP BY 1": None,
    "SELECT n, count(*) AS c FROM t GROUP BY n": None,
    "SELECT ts, count(*) AS c FROM t JOIN dim USING (k) GROUP BY ts": None,
    "SELECT coalesce(ts, TIMESTAMP'2000-01-01') AS h, count(*) AS c FROM t GROUP BY 1": None,
}


def found(query: str):
    pipeline = Pipeline()
    pipeline.sql(f"{TABLES} CREATE VIEW v AS {query}")
    program = program_of(pipeline.circuit())
    return program, frontiers(program), watermarks(program)


@pytest.mark.parametrize("query", ROWS)
def test_rows_that_no_change_touches_or_reads(query):
    program, told, marks = found(query)
    read = {name for rule in program.rules for name in rule.relations}
    rows = {name: shown(f.frontier, marks) for name, f in told.rows.items() if name in "tsi" and name in read}
    assert rows == ROWS[query]
    assert all(name in told.reasons for name in {"t", "s", "i"} & read - rows.keys())


@pytest.mark.parametrize("query", GROUPS)
def test_groups_that_no_change_touches(query):
    _, told, marks = found(query)
    groups = [shown(f.frontier, marks) for f in told.groups.values()]
    assert groups == ([] if GROUPS[query] is None else [GROUPS[query]])


def test_programs_without_watermarks_have_no_frontiers():
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (n INT); CREATE VIEW v AS SELECT n, count(*) AS c FROM t GROUP BY n")
    told = frontiers(program_of(pipeline.circuit()))
    assert not told.rows
    assert not told.groups
    assert not told.reasons
