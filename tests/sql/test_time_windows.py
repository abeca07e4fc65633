"""Windows of time as maintained views, against their definitions computed anew in Python after each change.

Catches a time that falls into the neighbouring window, before 1970 too, a hop that is missing or there twice, sessions
that do not merge, or do not split, as rows come and go between them, and a window that mixes the groups of others.
`tests/sql/test_against_spark.py` compares the same queries with Spark's answers.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

import deltic
from deltic.errors import ProgramError

SECOND = timedelta(seconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TABLE = "CREATE TABLE t (k INT, ts TIMESTAMP, x INT)"


def starts(time, size, slide, origin):
    """The starts of all windows that have a time, in seconds."""
    seconds = (time - EPOCH).total_seconds()
    last = seconds - (seconds - origin) % slide
    return [last - i * slide for i in range(size // slide + 1) if last - i * slide + size > seconds]


def hopping(rows, size, slide, origin):
    found = Counter()
    for k, ts, x in rows:
        if ts is not None:
            for start in starts(ts, size, slide, origin):
                begin = EPOCH + start * SECOND
                found[k, begin, begin + size * SECOND] += x
    return Counter((*key, total) for key, total in found.items())


def sessions(rows, gap):
    """Those of rows that each last for the gap of their x, in seconds."""
    found = Counter()
    for k in {row[0] for row in rows}:
        parts = []
        for ts, x in sorted((ts, x) for key, ts, x in rows if key == k and ts is not None and gap(x) > 0):
            end = ts + gap(x) * SECOND
            if parts and ts <= parts[-1][1]:
                start, latest, total = parts.pop()
                parts.append((start, max(latest, end), total + x))
            else:
                parts.append((ts, end, x))
        found.update((k, *part) for part in parts)
    return found


def random_time(rng):
    if rng.random() < 0.1:
        return None
    return EPOCH + rng.choice((-1, 1)) * timedelta(seconds=rng.randint(0, 600), microseconds=rng.choice((0, 0, 1)))


def epochs(rng, count):
    """Changes of the table and its rows after each."""
    rows = Counter()
    for _ in range(count):
        change = Counter(
            (rng.choice((None, 1, 2)), random_time(rng), rng.randint(1, 9)) for _ in range(rng.randint(1, 6))
        )
        change.subtract(rng.sample(sorted(rows.elements(), key=repr), min(rows.total(), rng.randint(0, 4))))
        rows = +Counter({row: rows[row] + change[row] for row in {*rows, *change}})
        yield change, list(rows.elements())


def follow(query, expected, seed):
    """The view after each epoch, which is to be what is expected of the table's rows."""
    pipeline = deltic.Pipeline()
    pipeline.sql(f"{TABLE}; CREATE VIEW v AS {query}")
    for change, rows in epochs(random.Random(seed), 12):
        with pipeline.transaction() as transaction:
            transaction.insert("t", [row for row, weight in change.items() for _ in range(weight)])
            transaction.delete("t", [row for row, weight in change.items() for _ in range(-weight)])
        found = Counter(tuple(row.values()) for row in pipeline["v"].to_arrow().to_pylist())
        assert found == expected(rows), (query, seed, rows)


HOPS = [(60, 60, 0), (60, 60, 7), (90, 30, 0), (100, 30, 10), (7, 2, 1), (45, 45, -3)]


@pytest.mark.parametrize(("size", "slide", "origin"), HOPS)
def test_windows_that_hop(size, slide, origin):
    written = f"window(ts, '{size} seconds', '{slide} seconds', '{origin} seconds')"
    query = f"SELECT k, window.start, window.end, sum(x) AS s FROM t GROUP BY k, {written}"
    follow(query, lambda rows: hopping(rows, size, slide, origin), seed=size)


def test_windows_in_from():
    hop = "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL 30 SECONDS, INTERVAL 1 MINUTE)"
    query = f"SELECT k, window_start, window_end, sum(x) AS s FROM TABLE({hop}) AS w GROUP BY ALL"
    follow(query, lambda rows: hopping(rows, 60, 30, 0), seed=1)


GROUPED = {
    "TUMBLE": ("INTERVAL '60' SECOND", lambda rows: hopping(rows, 60, 60, 0)),
    "HOP": ("INTERVAL '30' SECOND, INTERVAL '1' MINUTE", lambda rows: hopping(rows, 60, 30, 0)),
    "SESSION": ("INTERVAL '40' SECOND", lambda rows: sessions(rows, lambda x: 40)),
}


@pytest.mark.parametrize("name", GROUPED)
def test_windows_of_group_by(name):
    lengths, expected = GROUPED[name]
    shown = ", ".join(f"{name}_{part}(ts, {lengths}) AS {part.lower()}" for part in ("START", "END"))
    follow(f"SELECT k, {shown}, sum(x) AS s FROM t GROUP BY k, {name}(ts, {lengths})", expected, seed=2)


def test_an_offset_of_tumble():
    call = "(ts, INTERVAL '1' MINUTE, INTERVAL '7' SECOND)"
    shown = f"TUMBLE_START{call} AS a, TUMBLE_END{call} AS b"
    follow(f"SELECT k, {shown}, sum(x) AS s FROM t GROUP BY k, TUMBLE{call}", lambda r: hopping(r, 60, 60, 7), seed=3)


@pytest.mark.parametrize("gap", [3, 40, 120])
def test_sessions(gap):
    shown = "k, session_window.start AS a, session_window.end AS b, sum(x) AS s"
    query = f"SELECT {shown} FROM t GROUP BY session_window(ts, '{gap} seconds'), k"
    follow(query, lambda rows: sessions(rows, lambda x: gap), seed=gap)
    call = f"SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL {gap} SECONDS)"
    query = f"SELECT k, window_start, window_end, sum(x) AS s FROM {call} GROUP BY k, window_start, window_end"
    follow(query, lambda rows: sessions(rows, lambda x: gap), seed=gap + 1)


VARYING = {
    "CASE WHEN x > 5 THEN '90 seconds' WHEN x > 2 THEN 'interval 20 seconds' END": lambda x: (
        (x > 5) * 90 or (x > 2) * 20
    ),
    "INTERVAL 12 SECONDS * (x - 3)": lambda x: 12 * (x - 3),
}


@pytest.mark.parametrize("gap", VARYING)
def test_sessions_whose_rows_have_gaps_of_their_own(gap):
    shown = "k, session_window.start AS a, session_window.end AS b, sum(x) AS s"
    query = f"SELECT {shown} FROM t GROUP BY k, session_window(ts, {gap})"
    follow(query, lambda rows: sessions(rows, VARYING[gap]), seed=4)


def test_gaps_of_sessions_may_be_long():
    made = deltic.Pipeline()
    made.sql("CREATE TABLE c (k STRING, at TIMESTAMP NOT NULL)")
    for name, gap in {"near": 12, "far": 14, "ever": 1_000_000}.items():
        made.sql(f"CREATE VIEW {name} AS SELECT k, count(*) AS n FROM c GROUP BY k, session_window(at, '{gap} days')")
    made.sql("INSERT INTO c VALUES ('a', TIMESTAMP '2018-04-01 09:00:00'), ('a', TIMESTAMP '2018-04-14 09:00:00')")
    assert [sorted(made[name]) for name in ("near", "far", "ever")] == [[("a", 1), ("a", 1)], [("a", 2)], [("a", 2)]]


def test_a_change_reads_the_sessions_around_it():
    pipeline = deltic.Pipeline()
    query = "SELECT session_window.start AS a, count(*) AS n FROM t GROUP BY session_window(ts, '10 seconds')"
    pipeline.sql(f"{TABLE}; CREATE VIEW v AS {query}")
    with pipeline.transaction() as change:
        change.insert("t", [(1, EPOCH + (100 * i + j) * SECOND, 1) for i in range(5000) for j in range(4)])
    with pipeline.transaction() as change:
        change.insert("t", [(1, EPOCH + 250_008 * SECOND, 1)])
    assert change.of("v").to_arrow().num_rows == 2
    assert change.report.rows_visited < 100
    assert "reads the sessions around a changed row" in pipeline.explain("v")


NAMED = {
    "SELECT window, count(*) AS n FROM t GROUP BY window(ts, '1 day')": ["window", "n"],
    "SELECT window(ts, '1 day').end AS e, count(*) AS n FROM t GROUP BY window(ts, '1 day')": ["e", "n"],
    "SELECT window(ts, '1 day') AS w, count(*) AS n FROM t GROUP BY w HAVING w.start IS NOT NULL": ["w", "n"],
    "SELECT window(ts, '1 hour 30 minutes', 'interval 30 minutes') AS w, x FROM t": ["w", "x"],
    "SELECT session_window, x, count(*) AS n FROM t GROUP BY 2, session_window(ts, INTERVAL 1 DAY)": [
        "session_window",
        "x",
        "n",
    ],
}


@pytest.mark.parametrize("query", NAMED)
def test_what_a_window_is_called(query):
    pipeline = deltic.Pipeline()
    pipeline.sql(f"{TABLE}; INSERT INTO t VALUES (1, TIMESTAMP '2024-01-01', 3); CREATE VIEW v AS {query}")
    (row, *_) = pipeline["v"].to_arrow().to_pylist()
    assert [*row] == NAMED[query]


REFUSED = {
    "SELECT window(ts, '1 month') AS w FROM t": "'1 month' is not an interval of weeks, days, hours or less",
    "SELECT window(ts, INTERVAL 1 DAY * x) AS w FROM t": "is not a constant interval",
    "SELECT count(*) FROM t GROUP BY session_window(ts, CASE x WHEN 1 THEN '1' END)": ":88: '1' is not an interval",
    "SELECT window(x, '1 day') AS w FROM t": "a window is one of a TIMESTAMP, and x is int32",
    "SELECT window(ts, '1 day', '2 days') AS w FROM t": "the slide is longer than the window",
    "SELECT window(ts, '0 days') AS w FROM t": "the length of a window is above zero",
    "SELECT window(ts, '1 day', '1 day', '1 day') AS w FROM t": "the start is not less than the slide",
    "SELECT window(ts) AS w FROM t": "it is written window(time, size[, slide[, start]])",
    "SELECT window.middle FROM t GROUP BY window(ts, '1 day')": "a window has no field middle",
    "SELECT count(*) AS n FROM t GROUP BY window(ts, '1 day'), session_window(ts, '1 day')": "one window of time",
    "SELECT session_window(ts, '1 day') AS w FROM t": "session_window must be in GROUP BY",
    "SELECT x FROM t WHERE window(ts, '1 day').start IS NULL": "WHERE cannot have a window of time",
    "SELECT * FROM TUMBLE(TABLE t, ts, INTERVAL 1 DAY)": "TUMBLE(TABLE t, DESCRIPTOR(time), size[",
    "SELECT * FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL 1 DAY)": "HOP(TABLE t, DESCRIPTOR(time), slide, size[",
    "SELECT * FROM TUMBLE(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL 1 DAY)": "TUMBLE has no PARTITION BY",
    "SELECT * FROM TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL 1 DAY)": "there is no table or view u",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused(query):
    pipeline = deltic.Pipeline()
    pipeline.sql(TABLE)
    with pytest.raises(ProgramError) as error:
        pipeline.sql(f"CREATE VIEW v AS {query}")
    assert REFUSED[query] in str(error.value)
