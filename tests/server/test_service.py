"""The service core: group commit, verdicts, idempotency keys, limits, subscriptions.

Catches writers whose verdict depends on who shares their epoch, changes that are applied twice or lost around a crash,
questions that outlive their time, and subscribers that miss an epoch without being told.
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import CancelledError
from dataclasses import replace

import pytest

import deltic
from deltic import DelticError
from deltic.errors import BusyError, ChangeError, MemoryLimitError, ProgramError, StoppedError
from deltic.server.following import CutOffError
from deltic.server.limits import Limits
from deltic.server.service import Answer, DefinedText, Service
from deltic.server.writer import Committed

PROGRAM = """
    CREATE TABLE keyed (k INT PRIMARY KEY, v STRING);
    CREATE TABLE bag (a INT, b INT);
    CREATE VIEW sums AS SELECT a, sum(b) AS s FROM bag GROUP BY a;
    CREATE VIEW pairs AS SELECT v, a FROM keyed JOIN bag ON k = a;
"""
SET = ".decl member(x: number)\n.input member\n.decl odd(x: number)\nodd(x) :- member(x), x % 2 = 1."


@pytest.fixture
def pipeline():
    with deltic.Pipeline() as made:
        made.sql(PROGRAM)
        made.datalog(SET)
        yield made


@pytest.fixture
def service(pipeline):
    with Service(pipeline) as made:
        yield made


class Held:
    """Lets the writer wait, so that what is submitted meanwhile is there at once."""

    def __init__(self, service: Service) -> None:
        self._begun, self._go = threading.Event(), threading.Event()
        self._work = service.writer.run(self._wait, service.signal())
        self._begun.wait()

    def _wait(self) -> None:
        self._begun.set()
        self._go.wait()

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self._go.set()
        self._work.result()


def rows(pipeline, name):
    return sorted(map(tuple, pipeline[name].rows(counted=True).to_arrow().to_pylist() and pipeline[name].rows()))


def state(pipeline):
    return {name: rows(pipeline, name) for name in ("keyed", "bag", "member", "sums", "pairs", "odd")}


def random_operation(rng: random.Random):
    """A call on a transaction, which may or may not fit the tables."""
    key, value = rng.randrange(4), rng.choice("xyz")
    row, member = (rng.randrange(3), rng.randrange(2)), (rng.randrange(4),)
    return rng.choice(
        [
            lambda change: change.insert("keyed", [(key, value)]),
            lambda change: change.delete("keyed", [(key,)]),
            lambda change: change.delete("keyed", [(key, value)]),
            lambda change: change.upsert("keyed", [(key, value)]),
            lambda change: change.update("keyed", [{"k": key, "v": value}]),
            lambda change: change.change("keyed", [{"op": "u", "k": key, "v": value}]),
            lambda change: change.insert("bag", [row]),
            lambda change: change.delete("bag", [row]),
            lambda change: change.insert("member", [member]),
            lambda change: change.delete("member", [member]),
            lambda change: change.sql(f"UPDATE keyed SET v = '{value}' WHERE k = {key}"),
            lambda change: change.sql(f"INSERT INTO keyed VALUES ({key}, '{value}')"),
            lambda change: change.sql(f"DELETE FROM bag WHERE a = {row[0]}"),
            lambda change: change.sql(f"INSERT INTO bag SELECT a, s FROM sums WHERE a = {row[0]}"),
            lambda change: change.sql(f"INSERT INTO bag VALUES {row}"),
        ]
    )


def verdict(call):
    try:
        call()
    except DelticError as error:
        return type(error).__name__
    return "committed"


@pytest.mark.parametrize("seed", range(12))
def test_verdicts_are_those_of_one_writer_after_the_other(seed):
    """Against the same transactions, committed one by one by a pipeline without a service."""
    rng = random.Random(seed)
    with deltic.Pipeline() as grouped, deltic.Pipeline() as alone, Service(grouped) as service:
        for pipeline in (grouped, alone):
            pipeline.sql(PROGRAM)
            pipeline.datalog(SET)
        for _ in range(6):
            changes = [[random_operation(rng) for _ in range(rng.choice([1, 1, 2]))] for _ in range(12)]
            with Held(service):
                waiting = []
                for operations in changes:
                    transaction = service.begin()
                    for operation in operations:
                        operation(transaction)
                    waiting.append(service.submit(transaction))
            parts = [verdict(future.result) for future in waiting]
            assert parts == [verdict(lambda operations=operations: apply(alone, operations)) for operations in changes]
            assert state(grouped) == state(alone)


def apply(pipeline, operations):
    with pipeline.transaction() as change:
        for operation in operations:
            operation(change)


def test_concurrent_writers_share_an_epoch(service, pipeline):
    before = pipeline.epoch
    with Held(service):
        waiting = [service.submit(inserting(service, "bag", [(n, 1)])) for n in range(50)]
    assert {future.result().epoch for future in waiting} == {before + 1}
    assert len(pipeline["bag"]) == 50


def inserting(service, table, rows):
    transaction = service.begin()
    transaction.insert(table, rows)
    return transaction


def test_only_the_guilty_fail(service, pipeline):
    service.apply({"member": [{"x": 7, "op": "+"}]})
    with Held(service):
        good = [service.submit(inserting(service, "member", [(n,)])) for n in range(5)]
        bad = service.submit(inserting(service, "member", [(7,)]))
    assert len({future.result().epoch for future in good}) == 5
    with pytest.raises(ChangeError, match="member"):
        bad.result()
    assert rows(pipeline, "member") == [(0,), (1,), (2,), (3,), (4,), (7,)]


def test_what_fits_only_together_is_refused(service):
    """Each of two changes deletes what the other one inserts: none of them is right alone."""
    with Held(service):
        one, other = service.begin(), service.begin()
        for transaction, comes, goes in ((one, 1, 2), (other, 2, 1)):
            transaction.insert("member", [(comes,)])
            transaction.delete("member", [(goes,)])
        verdicts = [service.submit(one), service.submit(other)]
    for future in verdicts:
        with pytest.raises(ChangeError):
            future.result()


def test_rows_of_each_statement_are_counted(service):
    service.execute("INSERT INTO keyed VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    with Held(service):
        updates = [service.begin(), service.begin()]
        updates[0].sql("UPDATE keyed SET v = 'x' WHERE k < 3")
        updates[1].sql("DELETE FROM keyed WHERE k > 1; INSERT INTO bag VALUES (1, 1), (1, 1)")
        parts = [service.submit(each) for each in updates]
    assert [future.result().affected for future in parts] == [(2,), (2, 2)]


def test_a_key_is_applied_once(service, pipeline):
    first = service.apply({"bag": [{"a": 1, "b": 2, "op": "+"}]}, key="k1", digest="d")
    again = service.apply({"bag": [{"a": 1, "b": 2, "op": "+"}]}, key="k1", digest="d")
    assert (again.epoch, again.was_applied, first.was_applied) == (first.epoch, True, False)
    with pytest.raises(ChangeError, match="another change"):
        service.apply({"bag": [{"a": 1, "b": 3, "op": "+"}]}, key="k1", digest="e")
    assert rows(pipeline, "bag") == [(1, 2)]


def test_one_key_twice_at_once(service, pipeline):
    with Held(service):
        parts = []
        for _ in range(2):
            parts.append(service.submit(inserting(service, "bag", [(1, 2)]), key="same"))
    assert [future.result().was_applied for future in parts] == [False, True]
    assert rows(pipeline, "bag") == [(1, 2)]


def test_a_change_that_failed_may_come_again(service):
    for _ in range(2):
        with pytest.raises(ChangeError):
            service.apply({"bag": [{"a": 1, "b": 2, "op": "-"}]}, key="k", digest="d")
    service.apply({"bag": [{"a": 1, "b": 2, "op": "+"}]}, key="k", digest="e")


def test_keys_outlive_the_process(tmp_path):
    with deltic.Pipeline(state=tmp_path / "state") as pipeline, Service(pipeline) as service:
        service.execute("CREATE TABLE t (a INT)")
        told = service.execute("INSERT INTO t VALUES (1)", key="once", digest="d")
    with deltic.Pipeline(state=tmp_path / "state") as pipeline, Service(pipeline) as service:
        again = service.execute("INSERT INTO t VALUES (1)", key="once", digest="d")
        assert (again.epoch, again.was_applied) == (told.epoch, True)
        assert rows(pipeline, "t") == [(1,)]


def test_old_keys_are_forgotten(pipeline):
    with Service(pipeline, Limits(keys=3)) as service:
        for n in range(5):
            service.execute(f"INSERT INTO bag VALUES ({n}, 0)", key=f"k{n}")
        assert service.execute("INSERT INTO bag VALUES (4, 0)", key="k4").was_applied
        assert not service.execute("INSERT INTO bag VALUES (0, 0)", key="k0").was_applied
        assert len([name for name in pipeline.positions if name.startswith("request keys")]) == 3


def test_statements_by_kind(service):
    assert isinstance(service.execute("CREATE VIEW big AS SELECT * FROM bag WHERE b > 10"), DefinedText)
    assert isinstance(service.execute("INSERT INTO bag VALUES (1, 11), (2, 3)"), Committed)
    answer = service.execute("SELECT a FROM big")
    assert isinstance(answer, Answer)
    assert [tuple(row) for row in answer.rows] == [(1,)]
    assert [tuple(row) for row in service.ask("SELECT a FROM big WHERE b = :b", {"b": 11}).rows] == [(1,)]


@pytest.mark.parametrize("text", ["BEGIN", "INSERT INTO bag VALUES (1, 1); COMMIT", "BEGIN; SELECT 1"])
def test_brackets_are_refused(service, text):
    with pytest.raises(ProgramError, match="no transaction is begun or ended here"):
        service.execute(text)


def test_files_are_not_read(service, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with pytest.raises(ProgramError, match="may not be made here"):
        service.execute(f"CREATE TABLE leak USING csv OPTIONS (path '{tmp_path / 'secret.csv'}')")
    with pytest.raises(ProgramError, match="may not be made here"):
        service.execute(f"SELECT 1; CREATE TABLE leak (a INT) USING csv OPTIONS (path '{tmp_path}')")


def test_an_answer_has_no_more_rows_than_it_may(pipeline):
    with Service(pipeline, Limits(rows=3)) as service:
        service.execute("INSERT INTO bag VALUES (1, 1), (2, 2), (3, 3), (4, 4)")
        assert service.ask("SELECT * FROM bag LIMIT 3").rows.count() == 3
        with pytest.raises(DelticError, match="4 rows, and may have 3"):
            service.ask("SELECT * FROM bag")


def test_an_answer_has_no_more_bytes_than_it_may(pipeline):
    with Service(pipeline, Limits(answer="4 KiB")) as service:
        service.execute("INSERT INTO bag VALUES (1, 1), (2, 2)")
        service.ask("SELECT repeat('x', 1000) AS x FROM bag")
        for ask in (service.ask, service.execute):
            with pytest.raises(DelticError, match=r"and may have 4,096: .*--max-answer"):
                ask("SELECT repeat('x', 4000) AS x FROM bag")
        service.ask("SELECT repeat('x', 4000) AS x FROM bag", most=1)


LONG = "SELECT count(*) AS n FROM bag AS x, bag AS y, bag AS z WHERE x.b + y.b * z.b > 7"


def test_a_question_is_stopped_after_its_time(pipeline):
    with Service(pipeline, Limits(seconds=0.3)) as service:
        service.pipeline.execute("INSERT INTO bag SELECT id, id FROM range(600)")
        begun = time.monotonic()
        with pytest.raises(StoppedError, match=r"0\.3 s"):
            service.ask(LONG)
        assert time.monotonic() - begun < 20
        assert service.ask("SELECT count(*) AS n FROM bag").rows.count() == 1


PAIRS = "SELECT x.a, y.b FROM bag AS x, bag AS y"


def test_a_question_takes_no_more_memory_than_it_may(pipeline):
    with Service(pipeline, Limits(question_memory="32 MiB", seconds=300)) as service:
        service.execute("INSERT INTO bag SELECT id, id FROM range(3000)")
        for ask in (service.ask, service.execute):
            with pytest.raises(MemoryLimitError, match=r"may take 32 MiB.* --question-memory"):
                ask(PAIRS)
        assert service.ask("SELECT count(*) AS n FROM bag").rows.count() == 1


def test_a_question_for_which_there_is_no_memory_is_refused(service, monkeypatch):
    def query(*_):
        raise MemoryError

    monkeypatch.setattr("deltic.pipeline.epochs.snapshot.Snapshot.query", query)
    with pytest.raises(MemoryLimitError, match="more memory than there is"):
        service.ask("SELECT 1")


def test_a_question_is_cancelled(service):
    service.execute("INSERT INTO bag SELECT id, id FROM range(600)")
    signal, raised = service.signal(), []

    def ask():
        try:
            service.ask(LONG, signal=signal)
        except StoppedError as error:
            raised.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.2)
    signal.stop()
    thread.join(20)
    assert raised
    assert "it was cancelled" in raised[0]


def test_a_change_is_stopped_and_leaves_no_trace(pipeline):
    with Service(pipeline, Limits(seconds=0.3)) as service:
        pipeline.execute("INSERT INTO bag SELECT id, id FROM range(600)")
        before = state(pipeline)
        with pytest.raises(StoppedError):
            service.execute(f"INSERT INTO bag SELECT n, 0 FROM ({LONG})")
        assert state(pipeline) == before
        service.execute("INSERT INTO bag VALUES (1, 1)")


def test_too_many_writers_are_refused(pipeline):
    with Service(pipeline, replace(Limits(), waiting=2)) as service:
        with Held(service):
            waiting = [service.submit(inserting(service, "bag", [(n, n)])) for n in range(2)]
            with pytest.raises(BusyError, match="2 changes wait"):
                service.submit(inserting(service, "bag", [(9, 9)]))
        assert all(future.result() for future in waiting)
        service.execute("INSERT INTO bag VALUES (9, 9)")


def test_a_cancelled_change_is_not_made(service, pipeline):
    with Held(service):
        kept, gone = (service.submit(inserting(service, "bag", [(n, n)])) for n in (1, 2))
        assert gone.cancel()
    kept.result()
    with pytest.raises(CancelledError):
        gone.result()
    assert rows(pipeline, "bag") == [(1, 1)]


def test_what_waits_at_the_end_is_done(pipeline):
    service = Service(pipeline)
    with Held(service):
        waiting = [service.submit(inserting(service, "bag", [(n, n)])) for n in range(3)]
        closing = threading.Thread(target=service.close)
        closing.start()
    closing.join()
    assert all(future.result() for future in waiting)
    with pytest.raises(BusyError, match="stopping"):
        service.execute("INSERT INTO bag VALUES (9, 9)")


def test_subscribers_see_each_epoch(service):
    with service.subscribe("sums") as follower:
        service.execute("INSERT INTO bag VALUES (1, 1)")
        service.execute("INSERT INTO bag VALUES (1, 2)")
        parts = [(change.epoch - follower.position, list(change)) for change in follower]
        position = follower.position
    assert [sorted((tuple(row), weight) for row, weight in changes) for _, changes in parts] == [
        [((1, 1), 1)],
        [((1, 1), -1), ((1, 3), 1)],
    ]
    service.execute("INSERT INTO bag VALUES (2, 2)")
    (later,) = service.subscribe("sums", since=position)
    assert [tuple(row) for row, _ in later] == [(2, 2)]


def test_a_subscriber_is_cut_off_with_its_position(service):
    follower = service.subscribe("sums")
    position = follower.position
    service.execute("DROP VIEW sums")
    service.execute("CREATE VIEW sums AS SELECT b, sum(a) AS s FROM bag GROUP BY b")
    with pytest.raises(CutOffError) as raised:
        list(follower)
    assert raised.value.position == position


def test_subscriptions_are_limited(pipeline):
    with Service(pipeline, Limits(subscriptions=1)) as service:
        with service.subscribe("sums"), pytest.raises(BusyError, match="as may be, 1: end one"):
            service.subscribe("sums")
        with service.subscribe("sums"):
            pass
