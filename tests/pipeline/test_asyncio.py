"""Programs of asyncio: catches a blocked event loop, a lost wake-up, a lost or half-done commit, tasks mixed up."""

from __future__ import annotations

import asyncio
import threading

import pytest

import deltic
from deltic import DelticError


@pytest.fixture
def pipeline():
    pipeline = deltic.Pipeline()
    pipeline.sql(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT); CREATE VIEW v AS SELECT count(*) AS c, sum(n) AS s FROM t"
    )
    return pipeline


async def put(pipeline, n):
    async with pipeline.transaction() as change:
        change.insert("t", [(n, n)])
        await asyncio.sleep(0)  # others begin theirs meanwhile
    return change


def test_tasks_have_transactions_of_their_own(pipeline):
    async def serve():
        return await asyncio.gather(*(put(pipeline, n) for n in range(40)))

    changes = asyncio.run(serve())
    assert all(change.is_committed for change in changes)
    assert list(pipeline["v"]) == [(40, sum(range(40)))]
    assert sorted(change.report.epoch for change in changes) == list(range(1, 41))


def test_the_loop_goes_on_while_another_thread_writes(pipeline):
    async def serve():
        writing = asyncio.create_task(put(pipeline, 1))
        ticks = 0
        while not writing.done():
            await asyncio.sleep(0.005)
            ticks += 1
            if ticks == 10:
                may_end.set()
        return ticks

    may_end, begun = threading.Event(), threading.Event()

    pipeline.function(
        "slow", lambda x: (begun.set(), may_end.wait(9), x)[2], arguments=["int32"], returns="int32", deterministic=True
    )
    pipeline.sql("CREATE VIEW w AS SELECT slow(n) AS n FROM t")
    thread = threading.Thread(target=lambda: pipeline.execute("INSERT INTO t VALUES (0, 0)"))
    thread.start()
    assert begun.wait(9)
    assert asyncio.run(serve()) >= 10
    thread.join()
    assert sorted(pipeline["w"]) == [(0,), (1,)]


def test_following_waits_and_misses_nothing(pipeline):
    async def follow(count):
        seen = []
        async for change in pipeline.changes("v", since=pipeline.epoch):
            seen.append((change.epoch, max(row.c for row, weight in change if weight > 0)))
            if len(seen) == count:
                break
        return seen

    async def serve():
        before = threading.active_count()  # other tests of this process may have left some
        followers = [asyncio.create_task(follow(20)) for _ in range(50)]
        await asyncio.sleep(0)
        threads = threading.active_count()
        await asyncio.gather(*(put(pipeline, n) for n in range(10)))
        await asyncio.to_thread(lambda: [pipeline.execute("INSERT INTO t VALUES (?, 0)", [n]) for n in range(10, 20)])
        assert threads < before + 10
        return await asyncio.wait_for(asyncio.gather(*followers), 30)

    pipeline.snapshot()
    for seen in asyncio.run(serve()):
        assert seen == [(epoch, epoch - 1) for epoch in range(2, 22)]


def test_a_follower_that_is_cancelled_is_forgotten(pipeline):
    async def follow():
        async for _ in pipeline.changes("v"):
            pass

    async def serve():
        task = asyncio.create_task(follow())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(serve())
    pipeline.execute("INSERT INTO t VALUES (1, 1)")  # wakes nobody of a loop that is closed
    assert list(pipeline["v"]) == [(1, 1)]


def test_a_block_that_is_cancelled_leaves_no_trace(pipeline):
    async def hang():
        async with pipeline.transaction() as change:
            change.insert("t", [(1, 1)])
            await asyncio.sleep(9)

    async def serve():
        task = asyncio.create_task(hang())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(serve())
    assert list(pipeline["t"]) == []
    pipeline.execute("INSERT INTO t VALUES (1, 1)")


def test_a_commit_that_is_cancelled_is_whole(pipeline):
    begun, may_end, changes = threading.Event(), threading.Event(), []
    pipeline.function(
        "slow", lambda x: (begun.set(), may_end.wait(9), x)[2], arguments=["int32"], returns="int32", deterministic=True
    )
    pipeline.sql("CREATE VIEW w AS SELECT slow(n) AS n FROM t")

    async def write():
        async with pipeline.transaction() as change:
            changes.append(change)
            change.insert("t", [(1, 1)])

    async def serve():
        task = asyncio.create_task(write())
        await asyncio.to_thread(begun.wait, 9)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.01)
            assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(serve())
    assert changes[0].is_committed
    assert list(pipeline["w"]) == [(1,)]


def test_errors_of_a_commit_arrive(pipeline):
    async def serve():
        await put(pipeline, 1)
        with pytest.raises(deltic.ChangeError, match="insert a row that is present"):
            await put(pipeline, 1)
        async with pipeline.transaction() as change:
            with pytest.raises(DelticError, match="transactions do not nest"):
                pipeline.transaction()
            change.insert("t", [(2, 2)])

    asyncio.run(serve())
    assert sorted(pipeline["t"]) == [(1, 1), (2, 2)]


def test_begin_belongs_to_a_task(pipeline):
    async def bracket(n):
        pipeline.sql("BEGIN")
        pipeline.sql(f"INSERT INTO t VALUES ({n}, {n})")
        await asyncio.sleep(0)
        assert pipeline.sql_transaction is not None
        pipeline.sql("COMMIT")

    async def serve():
        await asyncio.gather(*map(bracket, range(5)))

    asyncio.run(serve())
    assert len(pipeline["t"]) == 5
