"""BEGIN, COMMIT, ROLLBACK, INSERT … ON CONFLICT. Catches changes that are seen before they are committed, or lost."""

from __future__ import annotations

import pytest

import deltic
from deltic import ChangeError, DelticError, ProgramError
from tests.pipeline.test_transactions import in_thread


@pytest.fixture
def pipeline():
    made = deltic.Pipeline()
    made.sql("CREATE TABLE t (id INT PRIMARY KEY, n INT, s STRING); CREATE VIEW v AS SELECT sum(n) AS n FROM t")
    made.sql("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b')")
    return made


def test_statements_between_begin_and_commit_are_one_epoch(pipeline):
    pipeline.sql("BEGIN; INSERT INTO t VALUES (3, 30, 'c')")
    assert repr(pipeline.sql("UPDATE t SET n = n + 1")) == "an open transaction: 2 changes, not committed yet"
    assert list(pipeline.sql("SELECT n FROM v")) == [(63,)]
    assert list(pipeline["v"]) == [(30,)]
    change = pipeline.sql("COMMIT WORK")
    assert dict(change.of("v")) == {(30,): -1, (63,): 1}
    assert (list(pipeline["v"]), pipeline.epoch, pipeline.sql_transaction) == ([(63,)], 2, None)


def test_a_rollback_leaves_no_trace(pipeline):
    pipeline.sql("START TRANSACTION; DELETE FROM t; SELECT * FROM t; ROLLBACK TRANSACTION")
    assert (list(pipeline["v"]), pipeline.epoch) == ([(30,)], 1)


def test_an_error_ends_the_transaction(pipeline):
    pipeline.sql("BEGIN; INSERT INTO t VALUES (3, 30, 'c')")
    with pytest.raises(ChangeError, match="several rows would have the key id = 1"):
        pipeline.sql("INSERT INTO t VALUES (1, 1, 'x'); SELECT * FROM t")
    with pytest.raises(ProgramError, match="no transaction is open"):
        pipeline.sql("COMMIT")
    assert list(pipeline["v"]) == [(30,)]


def test_transactions_are_of_threads(pipeline):
    pipeline.sql("BEGIN; UPDATE t SET n = 0 WHERE id = 1; SELECT * FROM v")
    in_thread(pipeline.sql, "BEGIN; UPDATE t SET n = 5 WHERE id = 2; COMMIT")
    with pytest.raises(ChangeError, match="at epoch 1, and the pipeline is now at epoch 2"):
        pipeline.sql("COMMIT")
    assert list(pipeline["v"]) == [(15,)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("BEGIN; BEGIN", "transactions do not nest; COMMIT or ROLLBACK ends it"),
        ("BEGIN; CREATE TABLE q (x INT)", "definitions are changed before or after it; COMMIT or ROLLBACK ends it"),
        ("BEGIN ATOMIC", "the statement should end here, found `ATOMIC`"),
        ("START", "expected TRANSACTION"),
    ],
)
def test_mistakes(pipeline, text, words):
    with pytest.raises(DelticError) as caught:
        pipeline.sql(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "INSERT INTO t VALUES (1, 5, 'x'), (3, 1, 'c') ON CONFLICT (id) DO UPDATE SET n = n + excluded.n",
            {(1, 15, "a"), (2, 20, "b"), (3, 1, "c")},
        ),
        (
            "INSERT INTO t (s, id) VALUES ('x', 1), ('d', 4) ON CONFLICT DO NOTHING",
            {(1, 10, "a"), (2, 20, "b"), (4, None, "d")},
        ),
        (
            "INSERT INTO t SELECT id, 0, 'new' FROM t ON CONFLICT (id) DO UPDATE SET s = excluded.s WHERE t.n > 15",
            {(1, 10, "a"), (2, 20, "new")},
        ),
    ],
)
def test_insert_on_conflict(pipeline, text, rows):
    pipeline.sql(text)
    assert set(pipeline["t"]) == rows


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("INSERT INTO t VALUES (1, 2, 'a') ON CONFLICT (n) DO NOTHING", "the key of t: its key is (id)"),
        ("INSERT INTO b VALUES (1) ON CONFLICT DO NOTHING", "the key of b: it has none"),
        ("INSERT INTO t VALUES (1, 2, 'a') ON CONFLICT (id) DO UPDATE SET q = 1", "there is no column in t called q"),
        ("INSERT INTO t VALUES (1, 2, 'a') ON DUPLICATE KEY UPDATE n = 1", "ON DUPLICATE KEY is not supported"),
        ("INSERT INTO t VALUES (1, 2, 'a'), (1, 3, 'b') ON CONFLICT (id) DO UPDATE SET n = 1", "several rows of the"),
        ("INSERT INTO t VALUES (9, 2, 'a'), (9, 3, 'b') ON CONFLICT DO NOTHING", "would have the key id = 9"),
    ],
)
def test_insert_on_conflict_is_refused(pipeline, text, words):
    pipeline.table("b", {"x": "int64"})
    with pytest.raises(DelticError) as caught:
        pipeline.sql(text)
    assert words in str(caught.value)
    assert list(pipeline["v"]) == [(30,)]
