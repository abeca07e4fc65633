"""Disks that fail and processes that end, at each call to the disk and at random instants.

Catches a write that is acknowledged before it is on the disk, a file that has its name too early or is removed too
early, an error that leaves half of a transaction, and a restart that makes something of what was under way.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys

import pytest

from deltic.errors import StateError
from deltic.pipeline.options import Resources
from deltic.pipeline.session import Pipeline
from tests.pipeline.durability.crashing import CHECKPOINTS, Faulty, Killed, act, after, check, disk

STEPS = 12
# The thread that writes a checkpoint is killed like the rest.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def open_(place):
    return Pipeline(state=place, durability=CHECKPOINTS, resources=Resources(threads=1))


def run_until_killed(place, system, open_=open_, steps=STEPS, act=act, after=after):
    """The last step that was acknowledged before the process ended."""
    acknowledged, pipeline = 0, None
    with disk(system):
        with contextlib.suppress(Killed):
            pipeline = open_(place)
            for step in range(1, steps + 1):
                act(pipeline, step)
                acknowledged = step
                after(pipeline, step)
            pipeline.close()
        end(pipeline)
    return acknowledged


def end(pipeline):
    """Let the lock of a process go that is no more."""
    if pipeline is not None and pipeline._keeping.state is not None:
        pipeline._keeping.state._wait()
        pipeline._keeping.state.files.unlock()


def calls_of_a_run(tmp_path):
    system = Faulty(0, "none")
    assert run_until_killed(tmp_path / "whole", system) == STEPS
    return system.calls


def killed_at(tmp_path, at, how):
    place = tmp_path / f"{how} {at}"
    acknowledged = run_until_killed(place, Faulty(at, how))
    with open_(place) as pipeline:
        step = check(pipeline, acknowledged)
        act(pipeline, step + 1)
        check(pipeline, step + 1)
    with open_(place) as pipeline:
        check(pipeline, step + 1)


def fails_at(tmp_path, at, how):
    """A call fails, the process goes on: what was refused is not there, what was not is."""
    place, system, refused = tmp_path / f"{how} {at}", Faulty(at, how), 0
    with disk(system):
        try:
            pipeline = open_(place)
        except StateError:
            pipeline = open_(place)
        done = 0
        while done < STEPS:
            try:
                act(pipeline, done + 1)
                done += 1
                after(pipeline, done)
            except StateError:
                refused += 1
                assert refused < 3
                assert check(pipeline, done) == done
        end(pipeline)
    with open_(place) as again:
        assert check(again, done) == done


@pytest.mark.parametrize("how", ["killed", "torn", "power"])
def test_kills_at_calls_to_the_disk(tmp_path, how):
    calls = calls_of_a_run(tmp_path)
    assert calls > 100
    for at in random.Random(how).sample(range(1, calls + 1), 6):
        killed_at(tmp_path, at, how)


@pytest.mark.parametrize("how", ["full", "broken"])
def test_calls_to_the_disk_that_fail(tmp_path, how):
    for at in random.Random(how).sample(range(1, calls_of_a_run(tmp_path) + 1), 6):
        fails_at(tmp_path, at, how)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "torn", "power"])
def test_many_kills_at_calls_to_the_disk(tmp_path, how):
    for at in range(1, calls_of_a_run(tmp_path) + 1, 20):
        killed_at(tmp_path, at, how)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["full", "broken"])
def test_many_calls_to_the_disk_that_fail(tmp_path, how):
    for at in range(1, calls_of_a_run(tmp_path) + 1, 20):
        fails_at(tmp_path, at, how)


@pytest.mark.parametrize("kills", [15, pytest.param(100, marks=pytest.mark.slow)])
def test_processes_that_are_killed(kills):
    command = [sys.executable, "-m", "tests.pipeline.durability.crashing", "--kills", str(kills), "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{kills} kills" in done.stdout
