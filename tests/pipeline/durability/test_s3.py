"""States and shards on servers that speak as S3 does, whose requests fail and which are killed, as are their clients.

Catches what a store of objects in a dictionary does not show: another meaning of conditional puts, errors that are
taken for answers, a retried put that finds its own first attempt, and a connection that is gone.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

import deltic
from deltic.engine.files import object_store
from deltic.errors import StateError
from tests import s3
from tests.pipeline.durability.crashing import CHECKPOINTS, act, after, check
from tests.pipeline.durability.test_state import SQL, everything, sell

STEPS = 24


@pytest.fixture(params=s3.KINDS)
def server(request, tmp_path, monkeypatch):
    made = s3.Server(request.param, tmp_path)
    s3.use(monkeypatch, made.port)
    yield made
    made.kill()


@pytest.fixture
def proxy(server, monkeypatch):
    made = s3.Proxy(server.port)
    s3.use(monkeypatch, made.port)
    yield made
    made.close()


def test_a_state_is_opened_again(server):
    place = f"s3://{s3.BUCKET}/state"
    with deltic.Pipeline(state=place, durability=deltic.Durability(epochs=3)) as pipeline:
        pipeline.sql(SQL)
        for n in range(8):
            sell(pipeline, (f"shop {n % 3}", n))
        with pytest.raises(StateError, match="has it open for writing"):
            deltic.Pipeline(state=place)
        expected = everything(pipeline)
    with deltic.Pipeline(state=place) as again:
        assert everything(again) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_requests_that_fail(proxy, monkeypatch, seed):
    """Every tenth request fails in one of four ways; requests are tried again, until those that are slow time out."""
    monkeypatch.setattr(object_store, "TIMEOUT", timedelta(seconds=1))
    place, done, refused = f"s3://{s3.BUCKET}/state{seed}", 0, 0
    pipeline = deltic.Pipeline(state=place, durability=CHECKPOINTS)
    proxy.rng, proxy.share = random.Random(seed), 0.1
    while done < STEPS:
        try:
            act(pipeline, done + 1)
            done += 1
            after(pipeline, done)
        except StateError as error:
            refused += 1
            assert refused < STEPS
            if "open the state again" in str(error).lower():
                pipeline._keeping.state.close()
                pipeline = _opened(place)
                done = check(pipeline, done)
    proxy.share = 0
    assert sum(proxy.counts[fault] for fault in s3.FAULTS) > 5
    assert check(pipeline, done) == done
    pipeline._keeping.state.close()
    with deltic.Pipeline(state=place) as again:
        assert check(again, done) == done


def _opened(place):
    for left in reversed(range(20)):
        try:
            return deltic.Pipeline(state=place, durability=CHECKPOINTS)
        except StateError:
            if not left:
                raise
    raise AssertionError


@pytest.mark.slow
def test_processes_that_are_killed(server):
    place, rng, acknowledged = f"s3://{s3.BUCKET}/state", random.Random(4), 0
    for _ in range(6):
        told = run(place, acknowledged, acknowledged + 200, rng)
        acknowledged = max([acknowledged, *told])
    assert acknowledged > 5
    with deltic.Pipeline(state=place) as pipeline:
        check(pipeline, acknowledged)


@pytest.mark.slow
def test_a_server_that_is_killed_and_comes_back(tmp_path, monkeypatch):
    """versitygw keeps objects in files, so that what it acknowledged is there when it is started again."""
    server = s3.Server("versitygw", tmp_path)
    s3.use(monkeypatch, server.port)
    stopped, rng = threading.Event(), random.Random(5)

    def restart():
        while not stopped.wait(rng.uniform(0.5, 2)):
            server.kill()
            time.sleep(rng.uniform(0, 1))
            server.start()

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        place = f"s3://{s3.BUCKET}/state"
        told = run(place, 0, 60)
    finally:
        stopped.set()
        thread.join()
    assert told[-1] == 60
    with deltic.Pipeline(state=place) as pipeline:
        assert check(pipeline, 60) == 60
    server.kill()


def run(place, acknowledged, last, kills=None):
    """The steps that a process told, which goes on from the last that was acknowledged, and may be killed meanwhile."""
    command = [sys.executable, "-m", "tests.pipeline.durability.stepping", place, str(acknowledged), str(last)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    parts = []
    for line in child.stdout:
        parts += [int(line)] if line.endswith("\n") else []
        if kills is not None and kills.random() < 0.2:
            time.sleep(kills.uniform(0, 0.3))
            child.kill()
    assert child.wait() in (0, -9)
    return parts
