"""Explanations where rows are on Spark's executors. Catches histories that are read from the wrong place, or twice."""

from __future__ import annotations

import random
import re

import pytest

from deltic import Pipeline, Shards
from tests.engine.executors.shards.jobs import only_jobs
from tests.why.test_histories import NUMBERS
from tests.why.test_random import FORALL, check_all
from tests.why.test_why import CLOSURE


@pytest.fixture
def made(spark, tmp_path, monkeypatch):
    only_jobs(monkeypatch)
    pipeline = Pipeline(spark, engine="spark", shards=Shards(count=2, directory=tmp_path / "shards", executor="job"))
    pipeline.sql(re.sub(r"\be\b", "w", NUMBERS))
    pipeline.datalog(CLOSURE + FORALL)
    return pipeline


def test_rows_on_executors_are_explained(made):
    rng = random.Random(1)
    edges = sorted({(rng.randrange(7), rng.randrange(7)) for _ in range(9)})
    with made.transaction() as change:
        change.insert("e", edges)
        change.insert("child", edges)
        change.insert("node", [(i,) for i in range(7)])
        change.insert("w", [(a, b, 1 + (a + b) % 3) for a, b in edges if a < b])
    assert check_all(made) > 20
    with made.transaction() as change:
        change.delete("e", edges[::3])
        change.delete("child", edges[::3])
    assert check_all(made) > 10
    assert made.why_not("p", (0, 99)).ways
    assert made.missing("p", (0, 99)) != []
