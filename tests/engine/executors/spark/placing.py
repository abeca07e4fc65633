"""Engines that choose where their epochs run, for tests: jobs run in this process, and moves come at random."""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from deltic.circuit.graph import Circuit
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.executor import MakeExecutor
from deltic.engine.executors.inline.executor import InlineExecutor
from deltic.engine.executors.placed import Place, Placed
from deltic.engine.executors.shards.executor import ShardsExecutor
from deltic.engine.executors.spark.executor import IsSmall, SparkShards
from deltic.engine.executors.spark.placed import PlacedExecutor
from deltic.engine.executors.spark.placement import HeldState, Home, Placement, home_of
from deltic.engine.files.local import LocalFiles
from tests.engine.executors.shards.jobs import run_here


class Anywhere(Placement):
    """Chooses a place at random for each epoch, by a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def choose(self, changed: Mapping[str, int], held: HeldState, barred: Mapping[Home, str]) -> Placed:
        told = super().choose(changed, held, barred)
        places: list[Place] = [p for p in self.places if home_of(p) == held.home or home_of(p) not in barred]
        return Placed(self._random.choice(places), "by lot", told.expected)


def placed(
    circuit: Circuit, placement: Placement, shards: int = 2, is_small: IsSmall = lambda rows: False
) -> IncrementalEngine:
    """An engine that chooses by a placement."""
    directory = Path(tempfile.mkdtemp(prefix="deltic-placed-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    holder = partial(SparkShards, directory=LocalFiles(directory), run_tasks=run_here, is_small=is_small)
    homes: dict[Home, MakeExecutor] = {
        "local": InlineExecutor.empty,
        "shards": partial(ShardsExecutor.empty, holder=holder),
    }
    return IncrementalEngine(circuit, executor=partial(PlacedExecutor, placement=placement, homes=homes), shards=shards)
