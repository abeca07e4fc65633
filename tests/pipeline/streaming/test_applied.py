"""Which batch of a stream may come next. Catches one that is applied twice, or that is missing, unnoticed."""

from __future__ import annotations

from threading import Lock

import pyarrow as pa
import pytest

from deltic import Pipeline, StreamError
from deltic.pipeline.streaming.forms import ReadBatch
from deltic.pipeline.streaming.into import AppliedBatch, TableStream, check_same, comes_again

LAST = AppliedBatch("q", 4, 10, 123)


@pytest.mark.parametrize(
    ("last", "query", "batch", "again"),
    [(None, "q", 0, False), (LAST, "q", 5, False), (LAST, "q", 4, True)],
)
def test_what_follows_on_the_state(last, query, batch, again):
    assert comes_again("t", query, batch, last, None) is again


@pytest.mark.parametrize(
    ("last", "query", "batch", "place"),
    [(None, "q", 3, None), (None, "q", 3, "dir"), (LAST, "r", 0, "dir"), (LAST, "q", 6, "dir"), (LAST, "q", 3, None)],
    ids=["memory-is-lost", "state-is-another", "another-query", "state-is-older", "checkpoint-is-older"],
)
def test_what_does_not(last, query, batch, place, golden, request):
    with pytest.raises(StreamError) as error:
        comes_again("t", query, batch, last, place)
    golden(f"streaming/{request.node.callspec.id}.txt", str(error.value))


def test_a_batch_that_comes_again_has_the_same_rows(golden):
    check_same("t", LAST, LAST)
    with pytest.raises(StreamError) as error:
        check_same("t", AppliedBatch("q", 4, 11, 123), LAST)
    golden("streaming/other-rows.txt", str(error.value))


def test_a_batch_is_a_position():
    assert AppliedBatch.of("t", LAST.position("t")) == LAST
    assert AppliedBatch.of("u", LAST.position("t")) is None


def test_a_batch_that_two_queries_have_at_once_is_applied_once():
    """One that was stopped while its last batch was at work, and the one that follows."""
    pipeline = Pipeline()
    pipeline.table("t", {"id": "int64"}, bag=True)
    into = TableStream(pipeline, "t", "t", (), None, None, Lock(), lambda table: None)
    changes = pa.table({"id": [1, 2], "__weight__": [1, 1]}, schema=pa.schema(
        [pa.field("id", pa.int64(), False), pa.field("__weight__", pa.int64(), False)]
    ))  # fmt: skip
    read = ReadBatch(changes, 2, 5)
    for _ in range(2):
        into._commit(AppliedBatch("q", 0, 2, 5), read)
    assert (pipeline.epoch, sorted(pipeline["t"])) == (1, [(1,), (2,)])
    with pytest.raises(StreamError, match="comes again, with 3 rows other than the 2"):
        into._commit(AppliedBatch("q", 0, 3, 5), read)
    into._commit(AppliedBatch("q", 1, 2, 5), read)
    assert pipeline.epoch == 2
