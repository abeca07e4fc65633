"""Random programs on several shards in one process, against the reference.

Catches rows that are sent to a shard where nobody looks for them, or to several; a delta query whose pieces read
versions that do not belong together; a shard that goes back to the start of an epoch and forgets what it was sent.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from deltic.engine.shards.engine import ShardedEngine
from tests.differential.cases import Case
from tests.differential.compare import first_disagreement
from tests.differential.test_circuits import SHAPE, random_case

PER_BATCH = 15


def check(seeds: range, shards: int, **shape: bool) -> None:
    make = partial(ShardedEngine, shards=shards)
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


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(8))
def test_many_random_circuits(batch, record_property):
    record_property("random circuits", 100)
    flags = {"bags": batch % 2 == 0, "rich": batch % 4 > 1, "ordered": batch > 3}
    check(range(200_000 + batch * 100, 200_100 + batch * 100), 2 + batch, **flags)


@pytest.mark.parametrize("shards", [2, 5])
def test_random_datalog(shards, record_property):
    record_property("random programs", PER_BATCH)
    for seed in range(shards * 500, shards * 500 + PER_BATCH):
        case = Case.random(seed)
        found = first_disagreement(case.circuit(), case.run, partial(ShardedEngine, shards=shards))
        if found is not None:
            pytest.fail(f"{shards} shards, seed {seed}\n{case.program}\n{case.run}\n{found}", pytrace=False)
