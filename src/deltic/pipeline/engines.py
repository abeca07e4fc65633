"""Engines by name, and their options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from deltic.calculus.planning.magic import DemandHints, PushedDemand, push_demand
from deltic.catalog import Catalog
from deltic.circuit.graph import Circuit
from deltic.depth import deep
from deltic.engine.executors.placed import Place
from deltic.engine.image import Saved
from deltic.engine.protocol import Engine
from deltic.engine.resources import ResourceLimits
from deltic.pipeline.options import Maintenance, Recursion
from deltic.pipeline.shards import Shards, is_here, slots, task_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.engine.engine import IncrementalEngine
    from deltic.engine.executors.executor import Host, MakeExecutor
    from deltic.engine.options import EngineOptions
    from deltic.program.compiling import Compiler

EngineName = Literal["auto", "local", "spark", "reference"]


@dataclass(frozen=True)
class Engines:
    """Makes the engines of a pipeline, with the same rewrites, threads and memory."""

    name: EngineName
    maintenance: Maintenance
    recursion: Recursion
    resources: ResourceLimits
    shards: Shards | None = None
    spark: SparkSession | None = None
    slots: int = 1
    """How many tasks of Spark run at once."""
    budget: int | None = None
    """The bytes of state that this process is to hold where the state can be elsewhere; None for any number."""

    @property
    def options(self) -> dict[str, Any]:
        """The options that a state depends on, and the engine that a reader needs."""
        split = {"engine": "spark", "shards": self.shards.count} if self.shards and self.name == "spark" else {}
        return {"strategy": dict(self.recursion.chosen) or self.recursion.default, **split}

    @property
    def bound(self) -> str:
        """The reason why all epochs run in this process despite a Spark session; "" where they need not."""
        if self.name != "auto" or self.spark is None or self.shards is not None:
            return ""
        return (
            "by the local engine, always: no directory is named that the executors of Spark see; with "
            "shards=Shards(directory=…) epochs run there, too, where that is quicker, or memory is short"
        )

    @deep
    def asked(self, catalog: Catalog) -> tuple[Circuit, tuple[PushedDemand, ...]]:
        """Return the circuit of a catalog with on-demand recursions rewritten, and the names of those."""
        if not self.maintenance.rewrites.demand:
            return catalog.composed, ()
        return on_demand(catalog)

    @cached_property
    def _compiler(self) -> Compiler:
        """The compiler of the pipeline's programs; it reuses parts of the previous program."""
        from deltic.program.compiling import Compiler

        return Compiler()

    def for_answer(self, circuit: Circuit) -> Engine:
        """Return an engine in this process for one query, with default options."""
        name: EngineName = "reference" if self.name == "reference" else "local"
        recursion = replace(self.recursion, strategy=self.recursion.default)
        return replace(self, name=name, recursion=recursion, shards=None).new(circuit)

    def new(self, circuit: Circuit) -> Engine:
        """Return an engine for the circuit, without rows; raises UnsupportedError where it cannot run the circuit."""
        if self.name == "reference":
            from deltic.engine.reference import ReferenceEngine

            return ReferenceEngine(circuit, self.recursion.iteration_limit)
        return self._incremental(circuit)

    def _incremental(self, circuit: Circuit) -> IncrementalEngine:
        """Return an incremental engine."""
        from deltic.engine.engine import IncrementalEngine
        from deltic.engine.plan.plans import Plans
        from deltic.engine.recursion.strategy import Strategy
        from deltic.engine.refresh import Policy, Refresh

        kept = self.recursion
        policy, _, strict = self.maintenance.refresh.partition(" ")
        options: dict[str, Any] = {
            "strategy": Strategy(kept.default),
            "refresh": Refresh(Policy(policy), self.maintenance.switch, bool(strict)),
            "iteration_limit": kept.iteration_limit,
            "recursion_timeout": kept.recursion_timeout,
            "strategies": {name: Strategy(strategy) for name, strategy in kept.chosen.items()},
            "compiler": self._compiler,
            "resources": self.resources,
            "plans": Plans(self.maintenance.rewrites),
        }
        if self.shards is not None:
            options |= self._of_shards(self.shards)
        return IncrementalEngine(circuit, **options)

    def _of_shards(self, shards: Shards) -> dict[str, Any]:
        """Return the options of an engine on shards."""
        from deltic.engine.executors.shards.copies import Copies
        from deltic.engine.executors.shards.executor import ShardsExecutor

        memory = task_memory(shards, self.spark)
        copies = Copies.within(memory) if shards.copies == "auto" else None
        options = {"shards": shards.count, "rounds": shards.rounds, "task_memory": memory, "copies": copies}
        if self.spark is None:
            return {**options, "executor": ShardsExecutor.empty}
        return {**options, **self._placed(shards, self.spark)}

    def _placed(self, shards: Shards, spark: SparkSession) -> dict[str, Any]:
        """Return the options of an engine that chooses an executor for each epoch."""
        from deltic.engine.executors.inline.executor import InlineExecutor
        from deltic.engine.executors.shards.compaction import FROZEN
        from deltic.engine.executors.shards.executor import ShardsExecutor
        from deltic.engine.executors.spark.costs import Costs
        from deltic.engine.executors.spark.executor import SparkShards
        from deltic.engine.executors.spark.job import run_each, run_job
        from deltic.engine.executors.spark.placed import PlacedExecutor
        from deltic.engine.executors.spark.placement import Home, Placement
        from deltic.engine.executors.spark.probe import ExecutorProbe

        is_auto = self.name == "auto"
        executors: list[Place] = ["process", "job"] if shards.executor == "auto" else [shards.executor]
        places: list[Place] = ["local", *executors] if is_auto else executors
        placement = Placement(places, self.budget, Costs(shards.count, self.slots))

        def on_shards(circuit: Circuit, options: EngineOptions, host: Host) -> ShardsExecutor:
            files = shards.files()
            job, each = partial(run_job, spark, slots=partial(slots, spark)), partial(run_each, spark)
            holder = partial(
                SparkShards, directory=files, run_tasks=job, run_each=each, is_small=placement.costs.is_small
            )
            if not is_here(spark):
                holder = partial(holder, before_jobs=ExecutorProbe(spark, files, self.slots).check)
            return ShardsExecutor.empty(circuit, options, host, holder)

        homes: dict[Home, MakeExecutor] = {"shards": on_shards}
        if is_auto:
            homes["local"] = InlineExecutor.empty
        return {"executor": partial(PlacedExecutor, placement=placement, homes=homes), "frozen": FROZEN}

    def restored(self, circuit: Circuit, saved: Saved, tables_alone: bool) -> Engine:
        """Return an engine for the circuit with a state that any engine has written."""
        written = shards_of(saved)
        taken = {self.shards.count if self.shards else 0} | ({0} if self.name == "auto" else set())
        if written in taken or self.name == "reference":
            same = self.new(circuit)
            same.restore(saved, tables_alone)
            return same
        name: EngineName = "spark" if written else "local"
        writer = replace(self, name=name, shards=Shards(written) if written else None, spark=None)._incremental(circuit)
        writer.restore(saved, tables_alone)
        engine = self._incremental(circuit)
        engine.take_over(writer)
        return engine


def on_demand(catalog: Catalog) -> tuple[Circuit, tuple[PushedDemand, ...]]:
    """Return the circuit of a catalog with on-demand recursions rewritten, and the names of those."""
    always, never = ({v.name for v in catalog.views.values() if v.demand is wanted} for wanted in (True, False))
    return push_demand(catalog.composed, DemandHints(always, never))


def shards_of(saved: Saved) -> int:
    """Return the number of shards of a stored state; 0 for the local engine."""
    return len(saved.about.get("shards", ()))
