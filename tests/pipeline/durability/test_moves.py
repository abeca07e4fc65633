"""States that move between the local engine and shards, of processes that are killed, and on disks that fail.

Catches a state that is half moved after a crash, a checkpoint that says nothing of its engine, and a move that fails
and takes rows with it. Where an epoch runs is drawn by lot, so that every kind of move is interrupted sooner or later.
"""

from __future__ import annotations

import contextlib
import random
from functools import partial
from itertools import pairwise

import pytest

from deltic.errors import StateError
from deltic.pipeline.options import Resources
from deltic.pipeline.session import Pipeline
from deltic.pipeline.shards import Shards
from tests.engine.executors.shards.jobs import only_jobs_here
from tests.engine.executors.spark.placing import Anywhere
from tests.pipeline.durability.crashing import CHECKPOINTS, Faulty, act, after, check, disk
from tests.pipeline.durability.test_crashes import end, run_until_killed
from tests.pipeline.test_shards import Session

STEPS = 8
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture(autouse=True)
def by_lot(monkeypatch):
    """All pipelines of a test place their epochs by one sequence of lots."""
    seeds = iter(range(10**6))
    monkeypatch.setattr("deltic.engine.executors.spark.placement.Placement", lambda *_: Anywhere(next(seeds)))
    only_jobs_here(monkeypatch)


def open_(place):
    shards = Shards(2, directory=f"{place} shards")
    return Pipeline(Session(), state=place, shards=shards, durability=CHECKPOINTS, resources=Resources(threads=1))


run = partial(run_until_killed, open_=open_, steps=STEPS)


def test_a_run_that_moves(tmp_path):
    homes: list[str] = []

    def see(pipeline, step):
        after(pipeline, step)
        homes.append(pipeline._epochs.engine.executor.home)

    assert run(tmp_path / "state", Faulty(0, "none"), after=see) == STEPS
    assert len(set(pairwise(homes))) >= 3
    with open_(tmp_path / "state") as again:
        assert check(again, STEPS) == STEPS
    with Pipeline(state=tmp_path / "state") as local:
        assert check(local, STEPS) == STEPS


@pytest.mark.parametrize("count", [1, pytest.param(15, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("how", ["killed", "torn", "power"])
def test_a_process_that_ends_at_a_call_to_the_disk(tmp_path, how, count):
    system = Faulty(0, "none")
    run(tmp_path / "whole", system)
    rng = random.Random(how)
    for at in rng.sample(range(1, system.calls), min(count, system.calls - 1)):
        place = tmp_path / f"{at}"
        acknowledged = run(place, Faulty(at, how))
        with open_(place) as pipeline:
            step = check(pipeline, acknowledged)
            act(pipeline, step + 1)
            check(pipeline, step + 1)


@pytest.mark.parametrize("count", [1, pytest.param(15, marks=pytest.mark.slow)], ids=str)
def test_a_disk_that_is_full_for_a_moment(tmp_path, count):
    system = Faulty(0, "none")
    run(tmp_path / "whole", system)
    for at in random.Random(count).sample(range(4, system.calls), min(count, system.calls - 4)):
        place, faulty, done = tmp_path / f"{at}", Faulty(at, "full"), 0
        with disk(faulty):
            pipeline = open_(place)
            while done < STEPS:
                with contextlib.suppress(StateError):
                    act(pipeline, done + 1)
                    done += 1
                    after(pipeline, done)
                assert check(pipeline, done) == done
            end(pipeline)
        with open_(place) as again:
            assert check(again, done) == done
