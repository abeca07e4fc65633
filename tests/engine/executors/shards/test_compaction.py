"""Compactions beside epochs: whatever comes in between, rows are those of the changes, and files do not pile up.

Catches a compaction that loses or doubles what an epoch has added meanwhile, that makes an epoch wait or fail, files
that a task still reads or that stay for ever, and one that fails and leaves something behind.
"""

from __future__ import annotations

import logging
import pickle
import random
import threading

import pyarrow as pa
import pytest

import deltic
from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.executors.shards import compaction
from deltic.engine.executors.shards.files import DESCRIPTIONS, RUNS, files_of, read_description
from deltic.engine.files.local import LocalFiles
from deltic.errors import BusyError, DelticError
from tests.engine.executors.shards.jobs import run_here
from tests.engine.executors.spark.engines import spark_engine

PROGRAM = """
    .decl edge(x: number, y: number) .input edge
    .decl name(x: number, said: symbol) .input name
    .decl two(x: number, said: symbol) .output two
    two(x, said) :- edge(x, y), name(y, said).
    .decl said(said: symbol) .output said
    said(s) :- name(_, s).
"""
CIRCUIT = lower(check([parse(PROGRAM)]))
FROZEN = 8


class Aside:
    """Runs the tasks of a compaction when they are begun, and tells of them after what is to come `between`."""

    def __init__(self):
        self.between = lambda: None
        self.told = []

    def __call__(self, given, what):
        self.told.append(what)
        messages = [message for task in pickle.loads(pickle.dumps(list(given))) for message in task()]
        self.between()
        return messages


class World:
    """An engine, the rows that its tables ought to have, and changes of them at random."""

    def __init__(self, files, seed=3, **options):
        self.aside, self.rng = Aside(), random.Random(seed)
        options = {"run_each": self.aside, "frozen": FROZEN, "shards": 2, **options}
        self.engine = spark_engine(CIRCUIT, directory=files, run_tasks=run_here, place="job", **options)
        self.rows = {"edge": set(), "name": set()}

    def change(self, count=30, most=40):
        drawn = self.rng.randrange
        given = {}
        for table, rows in self.rows.items():
            new = {(drawn(most), drawn(most)) for _ in range(count)}
            new = new if table == "edge" else {(x, f"n{y % 9}") for x, y in new}
            fields = [("x", pa.int64()), ("y", pa.int64()) if table == "edge" else ("said", pa.string())]
            weights = pa.array([-1 if row in rows else 1 for row in sorted(new)], pa.int64())
            columns = [pa.array([row[i] for row in sorted(new)], fields[i][1]) for i in range(2)]
            given[table] = pa.table([*columns, weights], [*(name for name, _ in fields), WEIGHT])
            rows ^= new
        return given

    def epoch(self, **options):
        self.engine.apply(self.change(**options))
        self.check()

    def check(self):
        edge, name = self.rows["edge"], self.rows["name"]
        wanted = {(x, said) for x, y in edge for z, said in name if y == z}
        assert self.read("two") == sorted(wanted)
        assert self.read("said") == sorted({(said,) for _, said in name})

    def read(self, view):
        return sorted(map(tuple, (row.values() for row in self.engine.version.read(view).to_pylist())))

    def most_runs(self):
        """The runs of the arrangement that has the most."""
        parts = [
            read_description(self.engine.executor.holder.files, state)
            for state in self.engine.executor.holder.states.values()
        ]
        return max(len(a["runs"]) for one in parts for _, a in compaction._arrangements(one))

    def strays(self):
        """The files that nobody needs."""
        files, states = self.engine.executor.holder.files, set(self.engine.executor.holder.states.values())
        named = {name for state in states for name in files_of(read_description(files, state))}
        return {*files.names(RUNS), *files.names(DESCRIPTIONS)} - named - states


def test_compactions_and_epochs_by_turns(files):
    world = World(files)
    for step in range(6):
        world.epoch(most=60)
        if step % 3 == 2:
            before = world.most_runs()
            world.engine.executor.holder.compacting.wait()
            assert world.most_runs() <= before
            world.check()
            assert world.engine.executor.holder.compacting.mark == ""
    assert world.aside.told
    assert set(world.aside.told) <= {"compaction of 1 shard", "compaction of 2 shards"}
    loose = World(files, run_each=None, frozen=FROZEN)
    assert loose.engine.options.frozen is None
    world.engine.extend(CIRCUIT)
    assert world.engine.options.frozen == FROZEN, "another definition has compactions, too"


@pytest.mark.parametrize("between", ["epochs", "an epoch that packs anew", "an aborted epoch", "the process"])
def test_what_comes_meanwhile_is_neither_lost_nor_doubled(tmp_path, between):
    world = World(LocalFiles(tmp_path), seed=len(between))
    engine, compacting = world.engine, world.engine.executor.holder.compacting
    compacting.begin = lambda *_: None
    for _ in range(5):
        world.epoch(most=60)
    before, states = world.most_runs(), dict(engine.executor.holder.states)

    def meanwhile():
        if between == "epochs":
            world.epoch(most=60)
            world.epoch(count=2, most=60)
        elif between == "an epoch that packs anew":
            world.epoch(most=1 << 40)
        elif between == "an aborted epoch":
            with engine.prepare({"edge": pa.table({"x": [-1], "y": [-1], WEIGHT: [1]})}):
                pass
        else:
            engine.executor.holder.place = "process"
            world.epoch(most=60)

    world.aside.between = meanwhile
    compacting._compact(engine.executor.holder, {0, 1}, whole=False)
    world.check()
    if between in ("epochs", "an aborted epoch"):
        assert world.most_runs() < before
    assert engine.executor.holder.states != states or between == "the process"
    world.aside.between = lambda: None
    for executor in ("job", "process", "job"):
        engine.executor.holder.place = executor
        world.epoch(most=60)
    assert not world.strays()


def test_nobody_publishes_while_an_epoch_is_committed(tmp_path):
    """Between the new state and the removal of what it does not name, or both would go."""
    engine, found = (world := World(LocalFiles(tmp_path))).engine, []
    collect = engine.executor.holder._collect_garbage

    def enter():
        with pytest.raises(BusyError):
            engine.section.enter(timeout=0.05)
        found.append(engine.epoch)

    def collected():
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        collect()

    engine.executor.holder._collect_garbage = collected
    world.epoch()
    assert found == [0]


def test_one_that_fails_changes_nothing_and_its_files_go(tmp_path, caplog):
    world = World(LocalFiles(tmp_path))
    engine = world.engine

    def fail():
        raise DelticError("the executors are gone")

    world.aside.between = fail
    caplog.set_level(logging.WARNING, "deltic.compaction")
    for _ in range(4):
        world.epoch(most=60)
        engine.executor.holder.compacting.wait()
    assert any("the executors are gone; the state is as it was" in message for message in caplog.messages)
    assert world.strays()
    world.epoch(count=1)
    engine.executor.holder.compacting.wait()
    world.aside.between = lambda: None
    world.epoch(count=1)
    engine.executor.holder.compacting.wait()
    engine.executor.holder.compacting.begin = lambda *_: None
    world.epoch(count=1)
    assert not world.strays()


def test_all_runs_become_one_where_somebody_asks(files):
    world = World(files)
    world.engine.compact()
    world.epoch()
    for executor in ("job", "process", "job"):
        world.engine.executor.holder.place = executor
        world.epoch(most=60)
    assert world.engine.compact()
    assert world.most_runs() == 1
    world.check()
    if isinstance(files, LocalFiles):  # what a version has open in a store stays
        assert not world.strays()
    world.epoch()
    assert not World(files, run_each=None).engine.compact()


def test_a_pipeline_that_keeps_no_files_says_so():
    with pytest.raises(DelticError, match="compact: the pipeline keeps no state"):
        deltic.Pipeline().compact()


def test_many_runs_are_merged_even_if_no_compaction_comes(tmp_path, monkeypatch):
    monkeypatch.setattr("deltic.engine.storage.run._MANY_RUNS", 3)
    world = World(LocalFiles(tmp_path))
    world.engine.executor.holder.compacting.begin = lambda *_: None
    for _ in range(6):
        world.epoch(most=60)
    assert world.most_runs() <= 4
