"""Rows that travel in files, forced for few of them: what passes through Spark has none of them with it.

Catches a change that is read too late, or that an epoch after it removes; a message that goes where nobody takes it;
and errors of such files that do not say where, or that change something.
"""

from __future__ import annotations

import gc
import os
import pickle
import random
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.executors.shards import tasks
from deltic.engine.executors.shards.encoded_rows import ITERATION, EncodedRows
from deltic.engine.executors.shards.files import MESSAGES, RUNS
from deltic.engine.executors.shards.messages import DIRECT, DRIVER, Mailbox, Message, sent, streams_of, together_few
from deltic.engine.files.local import LocalFiles
from deltic.engine.storage.codec import decode, encode
from deltic.engine.storage.interner import Interner
from deltic.errors import StateError
from deltic.values.types import Schema
from tests.engine.executors.shards.jobs import run_here
from tests.engine.executors.spark.engines import spark_engine

PROGRAM = """
    .decl edge(x: number, y: number) .input edge
    .decl name(x: number, said: symbol) .input name
    .decl three(x: number, said: symbol) .output three
    three(x, said) :- edge(x, y), edge(y, z), name(z, said).
"""
CIRCUIT = lower(check([parse(PROGRAM)]))


# What travelled: the stage of the task that sent it, -1 for the driver, and a message with rows.
_SENT = []


def watched(messages, stages, shards, what=""):
    """Runs tasks in this process, and notes the messages with rows."""
    _SENT.extend((-1, message) for message in messages if message.target)
    return run_here(messages, [Noting(task) for task in stages], shards, what)


@dataclass
class Noting:
    """A task of which the messages with rows are noted."""

    task: tasks.Task

    def __call__(self, messages):
        for message in self.task(messages):
            if message.target:
                _SENT.append((self.task.stage, message))
            yield message


def engine_at(files, direct, run=run_here):
    return spark_engine(CIRCUIT, directory=files, run_tasks=run, place="job", shards=3, direct=direct)


def changes_of(seed, epochs=6):
    rng, edges, names = random.Random(seed), set(), set()
    for _ in range(epochs):
        edge = {(rng.randrange(12), rng.randrange(12)) for _ in range(14)}
        name = {(rng.randrange(12), f"n{rng.randrange(5)}") for _ in range(5)}
        fields = {"edge": _signed(edge, edges, "xy"), "name": _signed(name, names, ("x", "said"))}
        edges ^= edge
        names ^= name
        wanted = {(x, said) for x, y in edges for w, z in edges if y == w for v, said in names if v == z}
        yield fields, wanted


def _signed(rows, there, columns):
    rows = sorted(rows)
    values = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    return pa.table({**values, WEIGHT: pa.array([-1 if row in there else 1 for row in rows], pa.int64())})


def _table(**columns):
    return pa.table({**columns, WEIGHT: pa.array([1] * len(columns["x"]), pa.int64())})


def applied(rows, change):
    for *row, weight in zip(*(column.to_pylist() for column in change.columns), strict=True):
        assert (tuple(row) in rows) == (weight < 0), row
        rows ^= {tuple(row)}


@pytest.mark.parametrize("direct", [0, 100])
def test_changes_are_those_of_the_rows_wherever_these_travel(files, direct):
    engine, rows, results = engine_at(files, direct), set(), []
    for change, wanted in changes_of(direct):
        results.append(engine.apply(change).changes)
        assert {tuple(row.values()) for row in engine.version.read("three").to_pylist()} == wanted
    for result, (_, wanted) in zip(results, changes_of(direct), strict=True):  # read when all epochs are over
        if "three" in result:
            applied(rows, result["three"])
            assert len(result["three"]) == result.batch("three").count()
            weights = result["three"].column(WEIGHT).to_pylist()
            assert result.counts()["three"] == (weights.count(1), weights.count(-1))
        assert rows == wanted


def test_no_rows_are_in_letters_that_have_a_file(tmp_path):
    _SENT.clear()
    engine = engine_at(LocalFiles(tmp_path), 0, watched)
    for change, _ in changes_of(3, 2):
        engine.apply(change)
    assert {message.stage for _, message in _SENT} >= {DRIVER, 0, 1}
    assert all(message.file and not message.content for _, message in _SENT)


def test_a_shard_keeps_for_later_what_its_later_tasks_take(tmp_path):
    engine = engine_at(LocalFiles(tmp_path), DIRECT, watched)
    engine.apply(next(changes_of(5))[0])
    _SENT.clear()
    engine.apply({"edge": _signed({(1, 2), (2, 1)}, set(), "xy")}, "normalize")
    pieces = {name for name, placed in engine.executor.plan.placed.items() if not placed.kept}
    found = [(stage, message) for stage, message in _SENT if message.target in pieces]
    last = max(stage for stage, _ in _SENT)
    assert {message.stage for _, message in found} >= {1, 2}
    assert all(message.stage == stage + 1 for stage, message in found), "a piece of a query is taken once"
    tables = {(stage, message.stage) for stage, message in _SENT if message.target == "edge"}
    assert tables >= {(-1, 0), *((stage, 0) for stage in range(last))}, "the last stage writes the tables"


def test_files_of_letters_go_once_nobody_reads_them(files):
    engine, old = engine_at(files, 0), None
    for change, _ in changes_of(7):
        result = engine.apply(change).changes
        old = result if old is None else old
    there = set(engine.executor.holder.files.names(MESSAGES))
    rows = old["three"]
    del old, result
    gc.collect()
    more = engine.apply({"name": _signed({(40, "n")}, set(), ("x", "said"))})
    assert not more.changes
    assert not set(engine.executor.holder.files.names(MESSAGES)) & there
    assert rows.num_rows


class Executed:
    """A pickle that leaves a trace when it is loaded."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def test_nothing_that_stands_in_a_shared_directory_is_unpickled(tmp_path):
    """Catches a file that whoever may write there can have executed: each is replaced by a pickle, and read again."""
    trace, place = tmp_path / "trace", tmp_path / "shards"
    engine = engine_at(LocalFiles(place), 0, lambda messages, *given: replaced(messages, *given))
    first, second, *_ = (change for change, _ in changes_of(11))
    is_on = False

    def replaced(messages, *given):
        for path in [path for path in place.rglob("*") if is_on and path.is_file()]:
            path.write_bytes(pickle.dumps(Executed(trace)))
        return run_here(messages, *given)

    engine.apply(first)
    assert [path for path in place.rglob("*") if path.is_file()]
    is_on = True
    with pytest.raises(StateError):
        engine.apply(second)
    assert not trace.exists()


@pytest.mark.parametrize("damage", ["gone", "cut", "other"])
def test_a_letter_that_cannot_be_read_is_an_error_that_names_the_file(files, damage):
    engine = engine_at(files, 0, lambda messages, *given: damaged(messages, *given))
    before = next(changes_of(9))[0]
    is_on = False

    def damaged(messages, *given):
        name = messages[-1].file
        if is_on and damage == "gone":
            engine.executor.holder.files.remove(name)
        elif is_on:
            data = engine.executor.holder.files.read(name)
            engine.executor.holder.files.remove(name)
            engine.executor.holder.files.write(name, [data[: len(data) // 2] if damage == "cut" else bytes(len(data))])
        return run_here(messages, *given)

    engine.apply(before)
    epoch, rows, is_on = engine.epoch, engine.version.read("three"), True
    change = {"edge": _signed({(50, 51), (51, 52)}, set(), "xy")}
    with pytest.raises(StateError, match=r"letters/\w+: .*nothing was changed.*is for Deltic alone"):
        engine.apply(change)
    assert (engine.epoch, engine.version.read("three")) == (epoch, rows)
    is_on = False
    engine.apply(change)
    assert engine.epoch == epoch + 1


def test_messages_are_read_as_they_were_written(tmp_path):
    """Large and small ones, of all kinds of columns, with many rows."""
    count = 300_000
    rows = pa.table({"x": range(count), "said": [f"text {x % 7}" for x in range(count)], WEIGHT: [1] * count})
    files, few = LocalFiles(tmp_path), rows.slice(5, 3)
    messages = list(sent(files, [Message.of("many", 1, rows), Message.of("few", 1, few)], 2, 1 << 10))
    assert [(message.target, bool(message.file)) for message in messages] == [("few", False)] + [("many", True)] * 3
    mailbox = Mailbox(files)
    assert mailbox.rows(messages[0]).equals(few)
    assert mailbox.reader(messages[1:])().equals(rows)
    to_all = [
        Message.of("all", 0, rows),
        Message.of("own", 0, rows.slice(7)),
        *(Message.of("all", n, rows) for n in (1, 2)),
    ]
    copies = list(sent(files, to_all, 0, 0))
    assert files.size(copies[0].file) < 2.2 * files.size(messages[1].file), "rows for all shards stand there once"
    for message in to_all:
        mine = [copy for copy in copies if (copy.target, copy.shard) == (message.target, message.shard)]
        assert mailbox.reader(mine)().equals(message.rows)
    direct = list(streams_of("many", 0, 1, few))
    assert together_few(files, iter(direct), 1 << 10) == direct
    kept = together_few(files, [*direct, *streams_of("many", 0, 1, rows)], 1 << 10)
    assert {message.file for message in kept} == {kept[0].file} != {""}
    assert mailbox.reader(kept)().num_rows == count + 3


def test_a_job_tells_what_it_has_read_and_written(files):
    n = 60_000
    engine = engine_at(files, DIRECT)
    whole = _table(x=np.arange(n), y=np.random.default_rng(2).permutation(n))
    first = engine.apply({"edge": whole})
    there = sum(
        engine.executor.holder.files.size(name)
        for folder in (RUNS, MESSAGES)
        for name in engine.executor.holder.files.names(folder)
    )
    assert first.bytes_written >= there
    assert first.bytes_read > whole.nbytes / 2
    small = engine.apply({"edge": _table(x=[n], y=[n])})
    assert 0 < small.bytes_written < first.bytes_written / 20
    if isinstance(files, LocalFiles):  # a store is asked for what this process has not read lately
        assert 0 < small.bytes_read < first.bytes_read / 2
    engine.executor.holder.place = "process"
    assert engine.apply({"edge": _table(x=[n + 1], y=[n])}).bytes_written == 0


def test_rows_in_a_process_are_decoded_only_where_ids_differ():
    given = pa.table(
        {
            "n": pa.array([3, None, -7, 2**62], pa.int64()),
            "f": pa.array([0.5, float("nan"), None, -1e300]),
            "said": pa.array(["b", "a", None, "b"]),
            "cost": pa.array([Decimal("1.25"), None, Decimal("-3.00"), Decimal("0.01")], pa.decimal128(9, 2)),
        }
    )
    schema, mine, other = Schema.of_arrow(given.schema), Interner(), Interner()
    encode(pa.array(["first", "a"]), schema.columns[2].type, other)
    columns = [encode(given.column(i), column.type, mine) for i, column in enumerate(schema)]
    rows = EncodedRows(schema, columns, np.array([1, -1, 2, 1]), np.array([0, 4, 1, 0], np.int32), mine)
    assert rows.columns_for(mine) == columns
    there = rows.columns_for(other)
    assert [there[i] is columns[i] for i in range(4)] == [True, True, False, True]
    decoded = [decode(*column, kind.type, other) for column, kind in zip(there, schema, strict=True)]
    assert [str(column.to_pylist()) for column in decoded] == [str(column.to_pylist()) for column in given.columns]
    part = rows.take(np.array([2, 1])).table
    assert part.column(WEIGHT).to_pylist() == [2, -1]
    assert part.column("said").to_pylist() == [None, "a"]
    assert part.column(ITERATION).to_pylist() == [1, 4]
    assert str(rows.slice(1, 2).take(np.array([1, 0])).table.to_pylist()) == str(part.to_pylist())
