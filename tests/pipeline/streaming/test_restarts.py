"""Drivers of a stream that are killed. Catches a batch that is lost or applied twice; see `restarting`."""

from __future__ import annotations

import pytest

from tests.pipeline.streaming.restarting import restart


@pytest.mark.slow
@pytest.mark.spark
def test_views_are_those_of_all_input_whenever_it_is_restarted(tmp_path):
    world = restart(8, stops=3, seed=1, root=tmp_path / "stream")
    assert world.check() > 0
