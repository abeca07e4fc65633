"""The engine on shards whose epochs run in the driver's process, or as one Spark job."""

from __future__ import annotations

from functools import partial
from typing import Any

from deltic.circuit.graph import Circuit
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.shards.compaction import FROZEN
from deltic.engine.executors.shards.executor import ShardsExecutor
from deltic.engine.executors.shards.messages import DIRECT
from deltic.engine.executors.spark.compacting import RunEach
from deltic.engine.executors.spark.costs import FEW
from deltic.engine.executors.spark.executor import IsSmall, RunTasks, SparkShards
from deltic.engine.executors.spark.placement import ShardPlace
from deltic.engine.files.files import Files


def spark_engine(
    circuit: Circuit,
    *,
    directory: Files,
    run_tasks: RunTasks,
    run_each: RunEach | None = None,
    place: ShardPlace = "process",
    direct: int = DIRECT,
    few: int = FEW,
    is_small: IsSmall = lambda rows: False,
    frozen: int = FROZEN,
    **options: Any,
) -> IncrementalEngine:
    """An engine whose executor has `SparkShards`; `options` are those of `EngineOptions`.

    Runs of `frozen` rows and more are merged by compactions, where `run_each` runs them, and else by epochs.
    """
    shards = partial(
        SparkShards,
        directory=directory,
        run_tasks=run_tasks,
        run_each=run_each,
        place=place,
        direct=direct,
        few=few,
        is_small=is_small,
    )
    executor = partial(ShardsExecutor.empty, holder=shards)
    return IncrementalEngine(circuit, executor=executor, frozen=None if run_each is None else frozen, **options)
