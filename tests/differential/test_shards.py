"""Random programs on several shards in one process, against the reference.

Catches rows that are sent to a shard where nobody looks for them, or to several; a delta query whose pieces read
versions that do not belong together; a shard that goes back to the start of an epoch and forgets what it was sent; a
task that does not take a step again that it needs, or writes half of the state; a move that loses what a state has.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from deltic.circuit.graph import Circuit
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.shards.executor import ShardsExecutor
from deltic.engine.refresh import Policy, Refresh
from tests.conformance.engines import in_tasks, on_shards
from tests.differential.cases import Case
from tests.differential.compare import MakeEngine, first_disagreement
from tests.differential.test_circuits import SHAPE, random_case
from tests.engine.executors.spark.placing import Anywhere, placed
from tests.engine.reopening import saved

PER_BATCH = 8


def check(seeds: range, shards: int, make: MakeEngine | None = None, **shape: bool) -> None:
    make = make or partial(on_shards, shards=shards)
    for seed in seeds:
        case = random_case(seed, replace(SHAPE, **shape))
        found = first_disagreement(case.circuit, case.run, make)
        if found is not None:
            pytest.fail(f"{shards} shards, seed {seed}\n{case.circuit}\n{case.run}\n{found}", pytrace=False)


@pytest.mark.parametrize("shape", [{}, {"bags": True}, {"rich": True}, {"ordered": True}], ids=str)
@pytest.mark.parametrize("shards", [1, 3])
def test_random_circuits(shards, shape, record_property):
    record_property("random circuits", PER_BATCH)
    check(range(shards * 1000, shards * 1000 + PER_BATCH), shards, **shape)


def by_lot(circuit: Circuit) -> IncrementalEngine:
    """Each epoch runs by the local engine, on shards in this process, or as tasks without memory."""
    return placed(circuit, Anywhere(len(circuit.nodes)))


def test_random_circuits_whose_epochs_run_anywhere(record_property):
    record_property("random circuits", 4)
    check(range(300, 304), 2, by_lot, bags=True)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [{}, {"rich": True, "ordered": True}], ids=str)
def test_many_random_circuits_whose_epochs_run_anywhere(shape, record_property):
    record_property("random circuits", 15)
    check(range(310, 325), 2, by_lot, **shape)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(8))
def test_many_random_circuits(batch, record_property):
    record_property("random circuits", 50)
    flags = {"bags": batch % 2 == 0, "rich": batch % 4 > 1, "ordered": batch > 3}
    check(range(200_000 + batch * 50, 200_050 + batch * 50), 2 + batch, **flags)


@pytest.mark.parametrize(("shards", "count"), [(2, 2), (3, 2), pytest.param(2, 20, marks=pytest.mark.slow)], ids=str)
def test_random_datalog(shards, count, record_property):
    record_property("random programs", count)
    for seed in range(shards * 500, shards * 500 + count):
        case = Case.random(seed)
        found = first_disagreement(case.circuit(), case.run, partial(on_shards, shards=shards))
        if found is not None:
            pytest.fail(f"{shards} shards, seed {seed}\n{case.program}\n{case.run}\n{found}", pytrace=False)


def recomputed(circuit: Circuit) -> IncrementalEngine:
    """Joins on shards are recomputed in every epoch: in this process, or by tasks."""
    refresh = Refresh(Policy.FULL) if len(circuit.nodes) % 2 else Refresh(Policy.AUTO, switch=0)
    if len(circuit.nodes) % 3:
        return on_shards(circuit, shards=3, refresh=refresh)
    return in_tasks(circuit, "job", refresh=refresh)


@pytest.mark.parametrize("shape", [{}, {"bags": True, "rich": True}], ids=str)
def test_random_circuits_that_are_recomputed(shape, record_property):
    record_property("random circuits", 6)
    check(range(420, 426), 3, recomputed, **shape)


class Reopening(IncrementalEngine):
    """Goes on with what it has written after each epoch."""

    def apply(self, *args, **keywords):
        result = super().apply(*args, **keywords)
        self.restore(saved(self.capture()))
        return result


def test_random_circuits_on_shards_that_are_written_and_read_again(record_property):
    record_property("random circuits", 8)
    check(range(400, 408), 2, partial(Reopening, executor=ShardsExecutor.empty, shards=2), rich=True, ordered=True)
    check(range(410, 412), 2, lambda circuit: TablesAlone(circuit, executor=ShardsExecutor.empty, shards=2))


class TablesAlone(Reopening):
    """Computes its views from its tables after each epoch."""

    def restore(self, saved, tables_alone=True):
        super().restore(saved, tables_alone)
