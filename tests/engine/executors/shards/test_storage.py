"""The files of shards, in a directory and in an object store.

Catches a task that reads more than it looks into, state that is lost or wrong when a checkpoint and jobs share files,
garbage that stays or that somebody still reads, and errors of storage that do not say where, or change something.
"""

from __future__ import annotations

import errno
import gc
import os
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import deltic
from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.shards import tasks
from deltic.engine.executors.shards.files import DESCRIPTIONS, RUNS, files_of, read_description
from deltic.engine.files import remote
from deltic.engine.files.local import LocalFiles, SystemCalls
from deltic.engine.files.pieces import MappedFile, read_piece
from deltic.engine.files.remote import RemoteFiles
from deltic.engine.storage import run
from deltic.errors import StateError
from deltic.pipeline.durability.manifest import CheckpointContents, write_checkpoint
from tests.engine.executors.shards.jobs import run_here
from tests.engine.executors.shards.places import files_of_kind
from tests.engine.executors.spark.engines import spark_engine
from tests.objects import Objects

PROGRAM = """
    .decl edge(x: number, y: number) .input edge
    .decl name(x: number, said: symbol) .input name
    .decl big(x: number, y: number) .input big
    .decl named(x: number, said: symbol) .output named
    .decl two(x: number, y: number) .output two
    named(y, said) :- edge(x, y), name(x, said).
    two(x, z) :- edge(x, y), edge(y, z).
    .decl far(x: number, z: number) .output far
    far(x, z) :- big(x, y), big(y, z).
"""
CIRCUIT = lower(check([parse(PROGRAM)]))
OTHER = lower(check([parse(PROGRAM + ".decl loops(x: number) .output loops loops(x) :- two(x, x).")]))


def engine_at(files, executor="job"):
    return spark_engine(CIRCUIT, directory=files, run_tasks=run_here, place=executor, shards=2)


def table(**columns):
    rows = len(next(iter(columns.values())))
    return pa.table({**columns, WEIGHT: columns.get(WEIGHT, [1] * rows)})


def random_change(rng, there):
    new = {(rng.randrange(30), rng.randrange(30)) for _ in range(rng.randrange(1, 12))} - there
    gone = set(rng.sample(sorted(there), min(len(there), rng.randrange(6))))
    there |= new
    there -= gone
    rows = [*new, *gone]
    return table(x=[x for x, _ in rows], y=[y for _, y in rows], **{WEIGHT: [1] * len(new) + [-1] * len(gone)})


def rows_of(engine, name):
    return sorted(map(tuple, (row.values() for row in engine.version.read(name).to_pylist())))


def two_of(edges):
    return sorted({(x, z) for x, y in edges for w, z in edges if y == w})


def test_jobs_and_the_process_by_turns_over_the_same_files(files):
    rng, edges = random.Random(5), set()
    engine = engine_at(files, "job")
    engine.apply({"name": table(x=range(30), said=[f"n{n}" for n in range(30)])})
    for step in range(12):
        engine.executor.holder.place = rng.choice(["job", "process"])
        engine.apply({"edge": random_change(rng, edges)})
        assert rows_of(engine, "two") == two_of(edges), step
        assert rows_of(engine, "named") == sorted({(y, f"n{x}") for x, y in edges})


def test_shards_that_no_row_reaches_take_no_part(files):
    """A row reaches its own shard and those of its derivations; the others keep their files."""
    engine = spark_engine(CIRCUIT, directory=files, run_tasks=run_here, place="job", shards=40)
    edges = {(x, x + 1) for x in range(100)}
    engine.apply({"edge": table(x=[x for x, _ in edges], y=[y for _, y in edges])})
    before = dict(engine.executor.holder.states)
    assert len(before) == 40
    for weight in (1, -1):
        engine.apply({"edge": table(x=[7], y=[200], **{WEIGHT: [weight]})})
        after = engine.executor.holder.states
        assert sorted(after) == sorted(before)
        assert 1 <= sum(after[n] != before[n] for n in after) <= 6
        now = edges | {(7, 200)} if weight == 1 else edges
        assert rows_of(engine, "two") == two_of(now)
        before = dict(after)


def test_garbage_goes_once_nobody_reads_it(files):
    rng, edges = random.Random(7), set()
    engine = engine_at(files)
    engine.apply({"edge": random_change(rng, edges)})
    before, then = engine.version, two_of(edges)
    for _ in range(8):
        engine.apply({"edge": random_change(rng, edges)})
    assert before.read("two").num_rows == len(then)
    del before
    for _ in range(2):
        gc.collect()
        engine.apply({"edge": random_change(rng, edges)})
    needed = {
        name
        for state in engine.executor.holder.states.values()
        for name in files_of(read_description(engine.executor.holder.files, state))
    }
    there = {*engine.executor.holder.files.names(RUNS), *engine.executor.holder.files.names(DESCRIPTIONS)}
    assert there >= {*needed, *engine.executor.holder.states.values()}
    assert len(there) <= len(needed) + 2 * len(engine.executor.holder.states) + 2
    sizes = sum(engine.executor.holder.files.size(name) for name in engine.executor.holder.files.names(RUNS))
    assert sizes < 200_000


@pytest.mark.parametrize("executor", ["job", "process"])
def test_other_definitions_may_be_taken_back(files, executor):
    """The epoch is aborted where it cannot be logged: the files of before are there, and the others go."""
    rng, edges = random.Random(11), set()
    engine = engine_at(files)
    engine.apply({"edge": random_change(rng, edges)})
    engine.executor.holder.place = executor
    with engine.prepare_extension(OTHER) as epoch:
        assert epoch.version.count("loops") == len({x for x, z in two_of(edges) if x == z})
    engine.apply({"edge": random_change(rng, edges)})
    assert rows_of(engine, "two") == two_of(edges)
    engine.extend(OTHER)
    engine.apply({"edge": random_change(rng, edges)})
    assert rows_of(engine, "loops") == sorted({(x,) for x, z in two_of(edges) if x == z})


def test_a_task_reads_the_blocks_that_it_looks_into(tmp_path, monkeypatch):
    files = files_of_kind("objects", tmp_path, monkeypatch)
    monkeypatch.setattr(remote, "BLOCK", 1 << 12)
    engine = engine_at(files)
    n = 200_000
    y = np.random.default_rng(1).permutation(n) + n
    engine.apply({"big": table(x=np.arange(n), y=y), "edge": table(x=[1, 2], y=[2, 3])})
    monkeypatch.setattr(remote, "_RECENT", remote._Recent(1 << 30))
    total = sum(files.store[name].__len__() for name in files.store)
    files.store.counts.clear()
    engine.apply({"edge": table(x=[3], y=[4])})
    assert total > 4_000_000
    assert files.store.counts["read"] < 200_000
    assert files.store.counts["written"] < 200_000
    assert rows_of(engine, "two") == [(1, 3), (2, 4)]


LOOKS = """
    CREATE VIEW joined AS SELECT id, c, price FROM item JOIN orders USING (o);
    CREATE VIEW unpaid AS SELECT id, o FROM item WHERE o NOT IN (SELECT o FROM orders);
    CREATE VIEW total AS SELECT o, sum(price) AS s, count(*) AS n FROM item GROUP BY o;
    CREATE VIEW least AS SELECT o, min(price) AS least, max(price) AS most FROM item GROUP BY o;
    CREATE VIEW prices AS SELECT o, count(DISTINCT price) AS n, median(price) AS middle FROM item GROUP BY o;
    CREATE VIEW placed AS SELECT id, o, row_number() OVER (PARTITION BY o ORDER BY price DESC, id) AS k FROM item;
    CREATE VIEW best AS SELECT id, o FROM placed WHERE k <= 2;
    CREATE VIEW so_far AS SELECT id, sum(price) OVER (PARTITION BY o ORDER BY id) AS s FROM item;
    CREATE VIEW dear AS SELECT DISTINCT o FROM item WHERE price > 10;
"""


def circuit_of_looks():
    pipeline = deltic.Pipeline()
    pipeline.sql(
        "CREATE TABLE item (id BIGINT PRIMARY KEY, o BIGINT, price BIGINT); CREATE TABLE orders (o BIGINT, c BIGINT)"
    )
    pipeline.sql(LOOKS)
    return pipeline._epochs.engine.circuit


def test_searches_read_what_is_near_the_changed_rows_and_no_more(tmp_path, monkeypatch):
    """Two of 100,000 rows change: each kind of look-up reads some blocks of each run."""
    files = files_of_kind("objects", tmp_path, monkeypatch)
    monkeypatch.setattr(remote, "BLOCK", 1 << 12)
    monkeypatch.setattr(run, "_FENCE", 1 << 9)
    engine = spark_engine(circuit_of_looks(), directory=files, run_tasks=run_here, place="job", shards=2)
    n, rng = 100_000, np.random.default_rng(1)
    drawn = {"o": rng.integers(0, n // 4, n), "price": rng.integers(0, 1000, n)}
    orders = table(o=np.arange(n // 4), c=np.arange(n // 4) % 77)
    engine.apply({"item": table(id=np.arange(n), **drawn), "orders": orders})
    monkeypatch.setattr(remote, "_RECENT", remote._Recent(1 << 30))
    total = sum(map(len, files.store.values()))
    files.store.counts.clear()
    engine.apply({"item": table(id=[n + 5, n + 6], o=[17, n // 8], price=[990, 0])})
    assert total > 15_000_000
    assert files.store.counts["read"] < total // 10


@pytest.mark.parametrize("seed", range(3))
def test_what_is_read_in_parts_is_what_there_is(tmp_path, monkeypatch, seed):
    """Runs of five parts and more are read in parts, at every kind of look-up, with equal changes and views."""
    files, circuit, rng = files_of_kind("objects", tmp_path, monkeypatch), circuit_of_looks(), random.Random(seed)
    monkeypatch.setattr(run, "_FENCE", 4)
    parts: list[int] = []
    near = run.KeptRun.near
    monkeypatch.setattr(run.KeptRun, "near", lambda *given: parts.append(0) or near(*given))
    engine = spark_engine(circuit, directory=files, run_tasks=run_here, place="job", shards=2)
    local, there = IncrementalEngine(circuit), dict[int, tuple[int, int]]()
    for step in range(6):
        gone = rng.sample(sorted(there), min(len(there), rng.randrange(6)))
        rows = [(i, *there.pop(i), -1) for i in gone]
        for i in range(200 * step, 200 * step + (150 if not step else rng.randrange(8))):
            there[i] = rng.randrange(40), rng.randrange(30)
            rows.append((i, *there[i], 1))
        ids, o, price, weights = zip(*rows, strict=True)
        changes = {"item": table(id=ids, o=o, price=price, **{WEIGHT: weights})}
        if not step % 2:
            changes["orders"] = table(o=range(20 * step // 2, 10 + 20 * step // 2), c=[step] * 10)
        done, right = engine.apply(changes), local.apply(changes)
        assert {v: sorted_rows(done.changes.batch(v).to_arrow()) for v in done.changes} == {
            v: sorted_rows(right.changes.batch(v).to_arrow()) for v in right.changes
        }
        for view in ("joined", "unpaid", "total", "least", "prices", "best", "so_far", "dear"):
            assert rows_of(engine, view) == rows_of(local, view), (view, step)
    assert len(parts) > 100


def sorted_rows(rows):
    return sorted(map(tuple, (row.values() for row in rows.to_pylist())), key=repr)


class Failing(SystemCalls):
    """A disk that is full, or that refuses, from now on."""

    def __init__(self, error):
        self.error, self.is_on = error, False

    def write(self, file, data):
        if self.is_on:
            raise OSError(self.error, os.strerror(self.error))
        return super().write(file, data)


@pytest.mark.parametrize(("error", "told"), [(errno.ENOSPC, "No space left"), (errno.EACCES, "Permission denied")])
@pytest.mark.parametrize("executor", ["job", "process then job"])
def test_a_disk_that_refuses_leaves_the_state_of_before(tmp_path, monkeypatch, error, told, executor):
    system = Failing(error)
    monkeypatch.setattr(tasks, "files_at", lambda place: LocalFiles(Path(place), system))
    engine = engine_at(LocalFiles(tmp_path, system))
    engine.apply({"edge": table(x=[1, 2], y=[2, 3])})
    if executor != "job":
        engine.executor.holder.place = "process"
        engine.apply({"edge": table(x=[3], y=[4])})
        engine.executor.holder.place = "job"
    before, states = rows_of(engine, "two"), engine.executor.holder.states
    system.is_on = True
    with pytest.raises(StateError, match=rf"files of a shard cannot be written \({told}.*Make room there, or name"):
        engine.apply({"edge": table(x=[9, 4], y=[9, 9])})
    system.is_on = False
    assert rows_of(engine, "two") == before
    assert engine.executor.holder.states == states
    engine.apply({"edge": table(x=[9, 4], y=[9, 9])})
    assert (9, 9) in rows_of(engine, "two")


@pytest.mark.parametrize("folder", [RUNS, DESCRIPTIONS])
@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_files_that_are_not_what_was_written_are_named(files, folder, damage):
    engine = engine_at(files)
    engine.apply({"edge": table(x=range(1, 20), y=range(2, 21))})
    name = engine.executor.holder.files.names(folder)[0]
    data = engine.executor.holder.files.read(name)
    engine.executor.holder.files.remove(name)
    if damage == "truncated":
        engine.executor.holder.files.write(name, [data[: len(data) // 2]])
    epoch = engine.epoch
    with pytest.raises(StateError, match=rf"{name}: it .*nothing was changed"):
        engine.apply({"edge": table(x=range(50, 70), y=range(51, 71))})
    assert engine.epoch == epoch
    engine.executor.holder.files.write(name, [data])
    engine.apply({"edge": table(x=range(50, 70), y=range(51, 71))})
    assert (50, 52) in rows_of(engine, "two")


def checkpointed(engine, files, number, before=None, compact=False):
    about = {"epoch": engine.epoch, "token": "", "positions": {}, "options": {}, "definitions": []}
    moment = CheckpointContents(sequence=engine.epoch, image=engine.capture(), **about)
    return write_checkpoint(files, number, moment, before, compact)


def reopened(made, files, other):
    engine = engine_at(other)
    engine.restore(made.contents.saved(files, made.engine))
    return engine


def test_checkpoints_take_over_the_files_of_jobs_and_jobs_those_of_checkpoints(tmp_path, monkeypatch):
    system = Objects()
    monkeypatch.setattr(tasks, "files_at", lambda place: RemoteFiles(system, place))
    state, shards = RemoteFiles(system, "bucket/state"), RemoteFiles(system, "bucket/shards")
    engine, n = engine_at(shards), 30_000
    engine.apply({"name": table(x=range(n), said=[f"a name that is {x} long" for x in range(n)])})
    system.counts.clear()
    first = checkpointed(engine, state, 1)
    assert system.counts["written"] < 20_000
    assert system.counts["copied"] > 500_000
    engine.apply({"edge": table(x=[1, 2], y=[2, 3])})
    system.counts.clear()
    second = checkpointed(engine, state, 2, first)
    assert system.counts["copied"] < 20_000
    assert system.counts["written"] < 20_000
    engine.executor.holder.files.clear()
    other = reopened(second, state, shards)
    assert rows_of(other, "named") == [(2, "a name that is 1 long"), (3, "a name that is 2 long")]
    system.counts.clear()
    other.apply({"edge": table(x=[7], y=[8])})
    assert (8, "a name that is 7 long") in rows_of(other, "named")
    assert system.counts["written"] < 60_000
    assert verified(state, checkpointed(other, state, 3, second)) > 500_000


def test_checkpoints_link_the_files_of_jobs(tmp_path):
    state = LocalFiles(tmp_path / "state")
    engine = engine_at(LocalFiles(tmp_path / "shards"))
    engine.apply({"name": table(x=range(100), said=[f"n{x}" for x in range(100)])})
    made = checkpointed(engine, state, 1)
    assert all((state.root / name).stat().st_nlink == 2 for name in made.contents.files)
    for _ in range(3):
        engine.apply({"name": table(x=[engine.epoch + 200], said=["more"])})
    assert verified(state, made)
    again = checkpointed(reopened(made, state, LocalFiles(tmp_path / "other")), state, 2, made, compact=True)
    assert not again.contents.files & made.contents.files
    assert len(rows_of(reopened(again, state, LocalFiles(tmp_path / "third")), "named")) == 0


def verified(files, made):
    """The bytes of all pieces, whose checksums are right."""
    for place in made.contents.places:
        read_piece(MappedFile(files, place.file), place)
    return made.contents.nbytes


def test_texts_that_went_another_way_are_not_taken_for_those_of_before(tmp_path):
    state, shards = LocalFiles(tmp_path / "state"), LocalFiles(tmp_path / "shards")
    engine = engine_at(shards)
    engine.apply({"name": table(x=range(9), said=[f"n{x}" for x in range(9)]), "edge": table(x=range(9), y=range(9))})
    engine.executor.holder.place = "process"
    for prefix in ("abandoned", "more"):  # the first ones are numbered in this process, and never in the files
        with engine.prepare({"name": table(x=range(20, 29), said=[f"{prefix}{x}" for x in range(9)])}) as _:
            pass
    made = checkpointed(engine, state, 1)
    engine.executor.holder.place = "job"
    engine.apply({"name": table(x=range(20, 29), said=[f"other{x}" for x in range(9)])})
    engine.apply({"edge": table(x=range(20, 29), y=range(20, 29))})
    wanted = rows_of(engine, "named")
    again = checkpointed(engine, state, 2, made)
    assert wanted[-1] == (28, "other8")
    assert rows_of(reopened(again, state, LocalFiles(tmp_path / "new")), "named") == wanted
