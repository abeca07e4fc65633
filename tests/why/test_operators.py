"""Premises of window functions, top-k, copies, times, earlier epochs and users' code, against the reference.

This catches a frame with a row too many or too few, a copy that is said to be left and is not, a row of the wrong
epoch, and a function whose arguments are not those of its row.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

import deltic
from deltic import Pipeline, Transactions, UnsupportedError
from deltic.algebra.zset import ZSet
from tests.why.test_random import check_all

WINDOWS = """
CREATE TABLE t (id INT NOT NULL, k INT NOT NULL, ts TIMESTAMP_NTZ NOT NULL, v INT, PRIMARY KEY (id));
CREATE VIEW moving AS SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s,
  lag(v, 2) OVER (PARTITION BY k ORDER BY id) AS back FROM t;
CREATE VIEW ahead AS SELECT id, lead(v, 1, -1) OVER (PARTITION BY k ORDER BY id DESC) AS l FROM t;
CREATE VIEW ranked AS SELECT id, rank() OVER (PARTITION BY k ORDER BY v) AS r,
  dense_rank() OVER (PARTITION BY k ORDER BY v) AS d FROM t;
CREATE VIEW near AS SELECT id, count(*) OVER (PARTITION BY k ORDER BY ts
  RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND INTERVAL 1 HOUR FOLLOWING) AS n FROM t;
CREATE VIEW earlier AS SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id
  ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) AS s FROM t;
CREATE VIEW parts AS SELECT id, ntile(3) OVER (PARTITION BY k ORDER BY v) AS n FROM t;
CREATE VIEW known AS SELECT id, first_value(v) IGNORE NULLS OVER (PARTITION BY k ORDER BY id) AS f FROM t;
CREATE VIEW best AS SELECT id, v FROM t ORDER BY v DESC, id LIMIT 3 OFFSET 2;
CREATE VIEW first_of AS SELECT * FROM (
  SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS r FROM t) WHERE r <= 2;
CREATE VIEW hours AS SELECT window(ts, '1 hour') AS w, sum(v) AS s FROM t GROUP BY window(ts, '1 hour');
"""


@pytest.mark.parametrize("seed", range(4))
def test_frames_have_what_decides(seed):
    rng = random.Random(seed)
    made = Pipeline()
    made.sql(WINDOWS)
    rows = [
        (i, rng.randrange(2), datetime(2026, 1, 1, rng.randrange(5), rng.randrange(60)), rng.choice([None, *range(5)]))
        for i in range(14)
    ]
    with made.transaction() as change:
        change.insert("t", rows)
    assert check_all(made) > 80


def test_a_frame_is_less_than_its_partition():
    made = Pipeline()
    made.sql(WINDOWS)
    with made.transaction() as change:
        change.insert("t", [(i, 0, datetime(2026, 1, 1), i) for i in range(50)])
    explanation = made["moving"].why(id=40)
    assert sorted(row[0] for _, row in explanation.leaves()) == [38, 39, 40]
    assert "this is row 41, its frames are rows 39 to 41" in str(explanation)
    assert "this is row 3" in str(made["best"].why(id=47))


COPIES = """
CREATE TABLE a (x INT); CREATE TABLE b (x INT);
CREATE VIEW less AS SELECT x FROM a EXCEPT ALL SELECT x FROM b;
CREATE VIEW both_of AS SELECT x FROM a INTERSECT ALL SELECT x FROM b;
"""


def test_which_copies_are_left():
    made = Pipeline()
    made.sql(COPIES)
    with made.transaction() as change:
        change.insert("a", [(1,)] * 3 + [(2,)])
        change.insert("b", [(1,)])
    assert check_all(made) == 3
    assert "3 copies of it, less 1 for rows of b" in str(made.why("less", (1,)))
    assert made.why("both_of", (1,)).leaves() == [("a", (1,)), ("b", (1,))]
    assert "3 copies of it, less 2 for rows of a, b" in str(made.why("both_of", (1,)))


def test_a_window_in_time_says_its_begin():
    made = Pipeline(transactions=Transactions(now=datetime(2026, 1, 1, 12, tzinfo=UTC)))
    made.sql("""CREATE TABLE t (id INT NOT NULL, ts TIMESTAMP, PRIMARY KEY (id));
      CREATE VIEW recent AS SELECT count(*) AS n FROM t WHERE ts > current_timestamp() - INTERVAL 1 HOUR""")
    with made.transaction() as change:
        change.insert("t", [(1, datetime(2026, 1, 1, 11, 30, tzinfo=UTC)), (2, datetime(2026, 1, 1, 9, tzinfo=UTC))])
    explanation = made.why("recent", (1,))
    assert [row[0] for table, row in explanation.leaves() if table == "t"] == [1]
    assert "not before 2026-01-01 11:00" in str(explanation)


def delayed(retain: int) -> Pipeline:
    made = Pipeline(transactions=Transactions(retain=retain))
    made.table("t", {"a": "int64"})
    flow = made.flow("t")
    made.view("before", flow.delayed())
    made.view("twice_before", flow.delayed().delayed())
    for a in (1, 2, 3):
        with made.transaction() as change:
            change.insert("t", [(a,)])
    return made


def test_a_delay_is_the_row_at_the_earlier_epoch():
    made = delayed(3)
    (step,) = made.why("before", (1,)).root.steps
    assert (str(step), step.epoch, step.by) == ("t(1) at epoch 2", 2, "table")
    assert made.why("twice_before", (1,)).to_dict()["steps"][-1]["epoch"] == 1
    assert made.why_not("before", (3,)).ways
    with pytest.raises(UnsupportedError, match="epoch 2 cannot be read: epoch 3 alone is retained"):
        delayed(1).why("before", (1,))


@deltic.function(deterministic=True)
def twice(x: int) -> int:
    return 2 * x


def test_functions_of_python_show_arguments_and_value():
    made = Pipeline(functions=[twice])
    made.sql("CREATE TABLE t (a BIGINT NOT NULL); CREATE VIEW v AS SELECT twice(a) AS b FROM t WHERE twice(a + 1) > 5")
    with made.transaction() as change:
        change.insert("t", [(2,)])
    message = str(made.why("v", (4,)))
    assert "twice(2) = 4" in message
    assert "twice(3) = 6" in message


@deltic.operator(takes=[{"x": "int64"}], gives={"x": "int64"})
def evens(rows: ZSet) -> ZSet:
    return rows.filter(lambda row: row[0] % 2 == 0)


def test_operators_of_users_show_what_they_are_given():
    made = Pipeline()
    made.table("t", {"x": "int64"})
    made.view("even", made.flow("t").apply(evens))
    with made.transaction() as change:
        change.insert("t", [(1,), (2,)])
    assert "evens of 2 rows" in str(made.why("even", (2,)))
    assert check_all(made) == 1
