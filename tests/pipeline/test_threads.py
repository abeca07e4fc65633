"""Threads and processes that share a pipeline: writers wait for each other, readers for nobody.

Catches reads of a state that no epoch has left, updates that are lost, and children of a fork that hang.
"""

from __future__ import annotations

import os
import pickle
import random
import threading
from decimal import Decimal

import pytest

import deltic
from deltic import BusyError, DelticError
from tests.pipeline.test_transactions import groups, in_thread, keyed, load

# Seconds between the reads of a thread, for others to be at work.
PAUSE = 0.001
CLOSURE = """
    .decl e(x: number, y: number)
    .decl p(x: number, y: number)
    p(x, y) :- e(x, y).
    p(x, z) :- p(x, y), e(y, z).
"""


def run_all(*functions):
    """Run functions in threads; the errors that they raised."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - told by the caller
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def closure(edges):
    found = set(edges)
    while new := {(x, z) for x, y in found for a, z in edges if a == y} - found:
        found |= new
    return found


def test_readers_see_whole_epochs_while_writers_work():
    pipeline = deltic.Pipeline(transactions=deltic.Transactions(retain=4))
    pipeline.datalog(CLOSURE)
    stop = threading.Event()

    def write(number):
        rng, mine = random.Random(number), set()
        for _ in range(10):
            edge = (10 * number + rng.randrange(8), 10 * number + rng.randrange(8))
            with pipeline.transaction() as change:
                (change.delete if edge in mine else change.insert)("e", [edge])
            mine ^= {edge}

    def read():
        last = 0
        while not stop.wait(PAUSE):
            with pipeline.snapshot() as seen:
                edges = set(seen["e"])
                assert set(seen["p"]) == closure(edges)
                assert seen.epoch >= last
                last = seen.epoch
                if edges:
                    x = min(edges)[0]
                    assert {y for _, y in seen["e"].lookup(x=x)} == {y for a, y in edges if a == x}

    def write_all():
        try:
            assert not run_all(*(lambda n=n: write(n) for n in range(4)))
        finally:
            stop.set()

    assert not run_all(write_all, read, read)
    assert pipeline.epoch in (40, 41)  # a reader that came first began one


def test_no_update_is_lost():
    pipeline = keyed()
    load(pipeline, (1, "a", 0))

    def count():
        for _ in range(2):
            with pipeline.transaction() as change:
                change.sql("UPDATE t SET n = n + 1")

    def count_by_statements():
        for _ in range(2):
            pipeline.sql("UPDATE t SET n = n + 1")

    assert not run_all(count, count_by_statements, count)
    assert list(pipeline["t"]) == [(1, "a", 6)]
    assert set(pipeline["v"]) == groups([(1, "a", 6)])


def test_definitions_from_several_threads_all_count():
    pipeline = keyed()
    assert not run_all(*(lambda n=n: pipeline.table(f"t{n}", {"x": "int64"}) for n in range(8)))
    assert len(pipeline) == 10


def test_transactions_may_be_open_in_several_threads():
    pipeline = keyed()
    with pipeline.transaction() as change:
        change.insert("t", [(1, "a", 1)])
        in_thread(load, pipeline, (2, "b", 2))
        assert set(pipeline["t"]) == {(2, "b", 2)}
    assert set(pipeline["t"]) == {(1, "a", 1), (2, "b", 2)}


def test_a_writer_waits_as_long_as_it_is_told():
    pipeline = keyed(transactions=deltic.Transactions(timeout=60))
    with pipeline._epochs.writing():
        errors = run_all(lambda: _hurry(pipeline))
    assert [type(error) for error in errors] == [BusyError]
    assert "for 0.05 s; nothing was changed" in str(errors[0])
    load(pipeline, (1, "a", 1))


def _hurry(pipeline):
    with pipeline.transaction(timeout=0.05) as change:
        change.insert("t", [(1, "a", 1)])


def test_definitions_that_change_under_a_transaction():
    pipeline = keyed()
    with pipeline.transaction() as change:
        change.insert("t", [(1, "a", 1)])
        in_thread(pipeline.table, "other", {"x": "int64"})
    assert len(pipeline["t"]) == 1
    with pipeline.transaction() as change:
        change.insert("t", [(2, "a", 1)])
        in_thread(lambda: pipeline.drop("v", "t"))
        with pytest.raises(DelticError, match="t: another thread has changed its definition while"):
            change.commit()
    pipeline.table("t", {"id": "int64"})


def test_a_transaction_of_statements_minds_what_it_reads_alone():
    pipeline = keyed()
    load(pipeline, (1, "a", 1))
    with pipeline.transaction() as change:
        change.sql("UPDATE t SET n = n + 1")
        in_thread(pipeline.sql, "CREATE VIEW other AS SELECT id FROM t")
    assert set(pipeline["t"]) == {(1, "a", 2)}
    message = (
        "other: another thread has changed its definition while the transaction was open, .* Begin the transaction"
    )
    with pipeline.transaction() as change:
        change.sql("DELETE FROM t WHERE id IN (SELECT id FROM other)")
        in_thread(pipeline.sql, "DROP VIEW other; CREATE VIEW other AS SELECT name AS id FROM t")
        with pytest.raises(deltic.ChangeError, match=message):
            change.commit()
    assert set(pipeline["t"]) == {(1, "a", 2)}


def test_a_lone_statement_that_met_a_change_of_definitions_is_planned_again():
    pipeline = keyed()
    load(pipeline, (1, "a", 1))
    update, view = (
        pipeline.sql_results("UPDATE t SET n = n + 1"),
        pipeline.sql_results("CREATE VIEW w AS SELECT * FROM t"),
    )
    in_thread(pipeline.sql, "ALTER TABLE t ADD COLUMN more INT DEFAULT 5")
    assert [change.report.rows_in for change in update] == [2]
    assert len(list(view)) == 1
    assert set(pipeline["w"]) == {(1, "a", 2, 5)}
    update = pipeline.sql_results("UPDATE t SET n = n + 1")
    in_thread(lambda: pipeline.drop("w", "v", "t"))
    with pytest.raises(DelticError, match="there is no table t"):
        list(update)


def test_lone_statements_while_another_thread_defines():
    pipeline, ended = keyed(), threading.Event()
    load(pipeline, (1, "a", 0))

    def define():
        while not ended.is_set():
            pipeline.sql("CREATE VIEW w AS SELECT count(*) AS c FROM t")
            pipeline.sql("DROP VIEW w")

    def update():
        try:
            for _ in range(40):
                pipeline.sql("UPDATE t SET n = n + 1")
        finally:
            ended.set()

    assert run_all(define, update) == []
    assert set(pipeline["t"]) == {(1, "a", 40)}


def test_a_forked_child_is_told():
    pipeline = keyed()
    load(pipeline, (1, "a", 1))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        parts = []
        for use in (lambda: len(pipeline["t"]), lambda: load(pipeline, (2, "b", 2)), lambda: pipeline.epoch):
            try:
                use()
            except DelticError as error:
                parts.append("inherited it by a fork" in str(error))
        os.write(write, b"ok" if parts == [True] * 3 else repr(parts).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert os.read(read, 1000) == b"ok"
    os.close(read)
    load(pipeline, (2, "b", 2))


def test_a_pipeline_is_not_sent_to_another_process():
    with pytest.raises(DelticError, match="belongs to one process and cannot be sent"):
        pickle.dumps(keyed())


def test_readers_beside_values_that_outgrow_their_places():
    """Numbers, texts, long decimals and arrays that are new in every epoch: all is packed anew under the readers."""
    pipeline = deltic.Pipeline(transactions=deltic.Transactions(retain=1000))
    pipeline.table("w", {"n": "int64?", "s": "string", "d": "decimal(38, 2)", "a": "array(string)"}, key="s")
    pipeline.sql("CREATE VIEW m AS SELECT s, n FROM w WHERE n IS NOT NULL")
    stop, expected = threading.Event(), {0: frozenset[tuple[object, ...]]()}

    def write():
        rng, rows = random.Random(1), {}
        for i in range(0, 66, 3):
            new = [_wide_row(rng, i, k) for k in range(rng.choice([1, 3, 40]))]
            gone = [(s,) for s in rng.sample(sorted(rows), min(len(rows), 2)) if s not in {row[1] for row in new}]
            rows.update({row[1]: row for row in new})
            for (s,) in gone:
                del rows[s]
            expected[pipeline.epoch + 1] = frozenset((n, s, d, tuple(a)) for n, s, d, a in rows.values())
            with pipeline.transaction() as change:
                change.upsert("w", new)
                change.delete("w", gone)
        stop.set()

    def read():
        rng, last = random.Random(2), 0
        while not stop.wait(PAUSE) or last < pipeline.epoch:
            last = pipeline.epoch
            seen = pipeline.at(rng.choice([last, rng.randint(min(last, 1), last)]))
            rows = expected[seen.epoch]
            assert {(n, s, d, tuple(a)) for n, s, d, a in seen["w"]} == rows
            assert set(seen["m"]) == {(s, n) for n, s, _, _ in rows if n is not None}
            n, s, d, a = rng.choice(sorted(rows, key=str)) if rows else (None, "", 0, ())
            assert len(seen["w"].lookup(s=s)) == len(rows & {(n, s, d, a)})
            assert len(seen["w"].lookup(d=d)) == sum(row[2] == d for row in rows)
            assert len(seen["w"].lookup(s="never there")) == 0

    pipeline.snapshot()
    expected[1] = expected[0]
    assert not run_all(write, read, read)


def _wide_row(rng, i, k):
    n = rng.choice([None, rng.randrange(-(2**i), 2**i) if i < 63 else -(2**63)])
    d = Decimal(rng.randrange(10 ** (1 + i // 2))) / 100
    return n, f"text {i} {k}" if rng.random() < 0.8 else f"text {k}", d, [f"a{i}", f"b{k}"]


def test_a_function_of_an_epoch_cannot_write():
    pipeline = keyed()
    with pipeline._epochs.writing(), pytest.raises(DelticError, match="at work in this very thread"):
        load(pipeline, (1, "a", 1))
    load(pipeline, (1, "a", 1))
