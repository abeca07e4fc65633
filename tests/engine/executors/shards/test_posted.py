"""Rows that tasks write for an epoch: it is the epoch of these rows, wherever it runs and however they were split.

Catches rows that get lost or come twice where a task runs twice or the plan has changed since, rows that pass through
the driver, files that stay behind, and an error of a task that changes something.
"""

from __future__ import annotations

import gc
import pickle
import random
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pytest

from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.batches import ConcatenatedBatch, TableBatch, with_weights
from deltic.engine.executors.shards import staged_rows
from deltic.engine.executors.shards.files import MESSAGES
from deltic.engine.executors.shards.staged_rows import StagedRows
from deltic.engine.files.local import LocalFiles
from deltic.errors import DataError, Diagnostic
from deltic.pipeline.rows.posting import PostedRows
from tests.engine.executors.shards.jobs import run_here
from tests.engine.executors.spark.engines import spark_engine

PROGRAM = """
    .decl edge(x: number, y: number) .input edge
    .decl name(x: number, said: symbol) .input name
    .decl three(x: number, said: symbol) .output three
    three(x, said) :- edge(x, y), edge(y, z), name(z, said).
"""
CIRCUIT = lower(check([parse(PROGRAM)]))


def engine_at(files, executor="job", shards=3):
    engine = spark_engine(CIRCUIT, directory=files, run_tasks=run_here, shards=shards)
    engine.executor.holder.place = executor
    return engine


def post(engine, table, rows, rng, weight=None):
    """Rows as tasks write them, of three partitions; some of the tasks run twice, and are heard once."""
    schema = engine.program.relations[engine.program.tables[table]].schema
    site, messages = engine.tasks.site(table), []
    task = partial(site.posting.over, read=PostedRows(table, schema, weight))
    for part in range(3):
        batches = rows.slice(part * len(rows) // 3, (part + 1) * len(rows) // 3 - part * len(rows) // 3).to_batches(7)
        for _ in range(rng.choice([1, 2])):
            made = list(pickle.loads(pickle.dumps(task))(iter(batches)))
        messages += made
    return StagedRows(site, messages)


def table(rows, columns):
    types = [pa.int64(), pa.int64() if columns == "xy" else pa.string()]
    fields = [pa.field(name, type_, nullable=False) for name, type_ in zip(columns, types, strict=True)]
    return pa.table([[row[i] for row in rows] for i in range(2)], pa.schema(fields))


def rows_of(engine, name):
    return sorted(map(tuple, (row.values() for row in engine.version.read(name).to_pylist())))


def changes(rng, there):
    """Rows that come and rows that go, so that all of `there` are there."""
    for name, new in (
        ("edge", {(rng.randrange(12), rng.randrange(12)) for _ in range(30)}),
        ("name", {(rng.randrange(12), f"n{rng.randrange(4)}") for _ in range(9)}),
    ):
        gone = set(rng.sample(sorted(there[name]), len(there[name]) // 3))
        come = new - there[name]
        there[name] = (there[name] | come) - gone
        yield name, sorted(come), sorted(gone)


def test_an_epoch_is_that_of_the_rows(files, monkeypatch):
    if isinstance(files, LocalFiles):
        monkeypatch.setattr(staged_rows, "_FEW", 0)
    rng, there = random.Random(5), {"edge": set(), "name": set()}
    engine, other, elsewhere = engine_at(files), engine_at(files, "process", 2), engine_at(files, shards=2)
    for step, executor in enumerate(["job", "process", "job"]):
        engine.executor.holder.place = executor
        given, same = {}, {}
        for name, come, gone in changes(rng, there):
            columns = "xy" if name == "edge" else ("x", "said")
            come, gone = table(come, columns), with_weights(table(gone, columns), -1)
            # One split for these shards, one for others, which is read here, and rows in memory.
            cut = len(come) // 2
            first = post(engine, name, come.slice(0, cut), rng, 1)
            second = post(rng.choice([engine, elsewhere]), name, come.slice(cut), rng, 1)
            given[name] = ConcatenatedBatch.of([first, second, TableBatch(gone)])
            assert given[name].count() == len(given[name].to_arrow()) == len(come) + len(gone)
            same[name] = pa.concat_tables([with_weights(come, 1), gone])
        result = engine.apply(given)
        assert result.rows_in == other.apply(same).rows_in
        assert rows_of(engine, "three") == rows_of(other, "three"), step
    assert len(there["edge"]) > 20


def test_the_driver_has_names_alone_and_files_go(files, monkeypatch):
    monkeypatch.setattr(staged_rows, "_FEW", 0)
    monkeypatch.setattr(staged_rows, "_MANY", 500)
    engine = engine_at(files)
    rows = table([(i, i + 1) for i in range(300)], "xy")
    batch = post(engine, "edge", rows, random.Random(1), 1)
    assert len({message.file for message in batch.messages}) > 3
    assert not any(message.content for message in batch.messages)
    folder = batch.files
    assert len(folder.names(MESSAGES)) > len({message.file for message in batch.messages}), (
        "some attempts were given up"
    )
    with engine.prepare({"edge": batch}):
        pass
    assert engine.count("edge", table=True) == 0, "an epoch that was aborted has read them, and leaves them there"
    engine.apply({"edge": batch})
    assert engine.count("edge", table=True) == 300
    parts = [part.num_rows for part in batch.parts()]
    assert sum(parts) == 300
    assert max(parts) < 60
    del batch
    gc.collect()
    assert folder.names(MESSAGES) == []
    assert engine.executor.holder.files.names(MESSAGES) == []


def test_rows_that_every_shard_has_stand_in_a_file_once(tmp_path, monkeypatch):
    monkeypatch.setattr(staged_rows, "_FEW", 0)
    engine = engine_at(LocalFiles(tmp_path))
    site = engine.tasks.site("edge")
    site = replace(site, split=replace(site.split, key=None))
    rows = table([(i, i) for i in range(50)], "xy")
    batch = StagedRows(site, site.posting.over(iter(rows.to_batches()), PostedRows("edge", site.schema, 1)))
    assert len(batch.messages) == 3
    assert batch.count() == len(batch.to_arrow()) == 50


def test_an_error_of_a_task_is_told_and_nothing_changes(files):
    engine = engine_at(files)
    engine.apply({"edge": with_weights(table([(1, 2)], "xy"), 1)})
    rows = pa.table({"x": pa.array([1, None], pa.int64()), "y": pa.array([3, 4], pa.int64())})
    wanted = r"table edge, partition 0, row 1, column x: .*; the row is \(None, 4\)"
    with pytest.raises(DataError, match=wanted):
        post(engine, "edge", rows, random.Random(2), 1)
    gc.collect()
    assert engine.count("edge", table=True) == 1
    read = PostedRows("edge", engine.tasks.site("edge").schema, 1)
    read(table([(i, i) for i in range(40)], "xy"))
    with pytest.raises(DataError, match="row 42, column x"):
        read(rows)


def test_errors_of_data_travel_whole():
    error = DataError([Diagnostic("one", "a.csv", 3, 4, "a,b", 1, "mend it"), Diagnostic("two")])
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.diagnostics, str(again)) == (DataError, error.diagnostics, str(error))


def test_a_batch_without_rows(files):
    engine = engine_at(files)
    batch = post(engine, "name", table([], ("x", "said")), random.Random(3), 1)
    assert batch.count() == 0
    assert batch.to_arrow().column_names == ["x", "said", WEIGHT]
    assert engine.apply({"name": batch, "edge": with_weights(table([(1, 2)], "xy"), 1)}).rows_in == 1
