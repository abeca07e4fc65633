"""An epoch as one Spark job, against the reference: what a real shuffle and Python workers make of the tasks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from deltic.engine.spark.engine import SparkEngine
from deltic.engine.spark.job import run_job
from deltic.engine.spark.placement import Placement
from tests.differential.compare import first_disagreement
from tests.differential.test_circuits import SHAPE, random_case


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 11, 17])
def test_random_circuits_as_jobs(spark, tmp_path, seed):
    case = random_case(seed, replace(SHAPE, bags=True))

    def make(circuit):
        job = partial(run_job, spark)
        return SparkEngine(circuit, directory=tmp_path, run_tasks=job, placement=Placement("job"), shards=2)

    found = first_disagreement(case.circuit, case.run[:3], make)
    assert found is None, f"{case.circuit}\n{found}"
