"""Drivers of a stream that are killed. Catches a batch that is lost or applied twice; see `restarting`."""

from __future__ import annotations

import pytest

from tests.engine.executors.spark.test_connect import NEEDED
from tests.pipeline.streaming.restarting import restart


@pytest.mark.slow
@pytest.mark.spark
def test_views_are_those_of_all_input_whenever_it_is_restarted(tmp_path):
    world = restart(8, stops=3, seed=1, root=tmp_path / "stream")
    assert world.check() > 0


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark_connect(tmp_path):
    for package in NEEDED:
        pytest.importorskip(package, reason=f"Spark Connect needs {package}: pip install 'pyspark[connect]'")
    world = restart(3, stops=2, seed=2, root=tmp_path / "stream", remote="local[1]")
    assert world.check() > 0
