"""The engines by name, and how they keep recursive views fresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from deltic.calculus.planning import Rewrites
from deltic.calculus.planning.magic import DemandHints, Pushed, push_demand
from deltic.catalog import Catalog
from deltic.circuit.graph import Circuit
from deltic.depth import deep
from deltic.engine.image import Saved
from deltic.engine.placed import Place
from deltic.engine.protocol import Engine
from deltic.engine.resources import Resources
from deltic.errors import DelticError
from deltic.pipeline.names import check_choice, check_least, find
from deltic.pipeline.shards import Shards, task_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.engine.local.engine import LocalEngine
    from deltic.engine.shards.engine import ShardedEngine
    from deltic.program.compiling import Compiler

EngineName = Literal["auto", "local", "spark", "reference"]
StrategyName = Literal["nested", "elastic", "full"]
RefreshName = Literal["auto", "incremental", "incremental strict", "full"]


@dataclass(frozen=True)
class Maintenance:
    """How recursive views are kept fresh; `Pipeline` documents each choice."""

    strategy: StrategyName | Mapping[str, StrategyName]
    refresh: RefreshName
    switch: float
    iteration_limit: int
    recursion_timeout: float | None

    def __post_init__(self) -> None:
        for strategy in (self.default, *self.chosen.values()):
            check_choice(strategy, "strategy", get_args(StrategyName))
        check_choice(self.refresh, "refresh policy", get_args(RefreshName))
        check_least(self.switch, "switch", 0, "a part of a bootstrap's work", whole=False)
        check_least(self.iteration_limit, "iteration_limit", 1, "a number of iterations")
        if self.recursion_timeout is not None:
            check_least(self.recursion_timeout, "recursion_timeout", 0, "a number of seconds", whole=False)

    @property
    def default(self) -> StrategyName:
        """The strategy of the recursive views for which none was chosen."""
        return "nested" if isinstance(self.strategy, Mapping) else self.strategy

    @property
    def chosen(self) -> Mapping[str, StrategyName]:
        """The strategies of single views."""
        return self.strategy if isinstance(self.strategy, Mapping) else {}

    @property
    def of_any(self) -> Maintenance:
        """The same without what was chosen for single views."""
        return replace(self, strategy=self.default)

    def check(self, catalog: Catalog) -> None:
        """Raises DelticError for a strategy of what is no recursive view, or two of views of one recursion."""
        recursive = {name: recursion for recursion in catalog.recursions for name in recursion}
        others = dict.fromkeys(
            catalog.relations, "it does not depend on itself, so that there is no choice of strategy"
        )
        for name, strategy in self.chosen.items():
            for other in find(name, "recursive view", recursive, others):
                if self.chosen.get(other, strategy) != strategy:
                    raise DelticError(
                        f"{name} is to have the strategy {strategy!r} and {other} {self.chosen[other]!r}, "
                        "but each depends on the other: choose one strategy for both"
                    )


@dataclass(frozen=True)
class Engines:
    """Makes the engines of a pipeline, with the same rewrites, threads and memory."""

    name: EngineName
    maintenance: Maintenance
    resources: Resources
    rewrites: Rewrites
    shards: Shards | None = None
    spark: SparkSession | None = None
    slots: int = 1
    """How many tasks of Spark run at once."""
    budget: int | None = None
    """The bytes of state that this process is to hold where the state can be elsewhere; None for any number."""

    @property
    def options(self) -> dict[str, Any]:
        """What a state that an engine has written depends on, and, for who reads it alone, the engine."""
        split = {"engine": "spark", "shards": self.shards.count} if self.shards and self.name == "spark" else {}
        return {"strategy": dict(self.maintenance.chosen) or self.maintenance.default, **split}

    @property
    def bound(self) -> str:
        """Why all epochs are those of the local engine, though there is a session of Spark; "" where that is not so."""
        if self.name != "auto" or self.spark is None or self.shards is not None:
            return ""
        return (
            "by the local engine, always: no directory is named that the executors of Spark see; with "
            "shards=Shards(directory=…) epochs run there, too, where that is quicker, or memory is short"
        )

    @deep
    def asked(self, catalog: Catalog) -> tuple[Circuit, tuple[Pushed, ...]]:
        """The circuit of a catalog with recursions that derive what is asked of them, and which do."""
        if not self.rewrites.demand:
            return catalog.composed, ()
        always, never = ({v.name for v in catalog.views.values() if v.demand is wanted} for wanted in (True, False))
        return push_demand(catalog.composed, DemandHints(always, never))

    @cached_property
    def _compiler(self) -> Compiler:
        """What makes the programs of the pipeline's engines, one of which has much in common with the one before."""
        from deltic.program.compiling import Compiler

        return Compiler()

    def for_answer(self, circuit: Circuit) -> Engine:
        """An engine for one answer, which nothing was chosen for; it is in one process."""
        name: EngineName = "reference" if self.name == "reference" else "local"
        return replace(self, name=name, maintenance=self.maintenance.of_any, shards=None).new(circuit)

    def new(self, circuit: Circuit) -> Engine:
        """An engine for the circuit, without rows; raises UnsupportedError when it cannot run it."""
        kept = self.maintenance
        if self.name == "reference":
            from deltic.engine.reference import ReferenceEngine

            return ReferenceEngine(circuit, kept.iteration_limit)
        from deltic.engine.local.recursion.refresh import Policy, Refresh
        from deltic.engine.local.recursion.strategy import Strategy

        policy, _, strict = kept.refresh.partition(" ")
        options: dict[str, Any] = {
            "strategy": Strategy(kept.default),
            "refresh": Refresh(Policy(policy), kept.switch, bool(strict)),
            "iteration_limit": kept.iteration_limit,
            "recursion_timeout": kept.recursion_timeout,
            "strategies": {name: Strategy(strategy) for name, strategy in kept.chosen.items()},
            "compiler": self._compiler,
        }
        if self.shards is None:
            return self._local(options, circuit)
        if self.spark is None:
            from deltic.engine.shards.engine import ShardedEngine

            return ShardedEngine(circuit, **options, **self._split(self.shards))
        return self._placed(circuit, self.shards, self.spark, options)

    def _split(self, shards: Shards) -> dict[str, Any]:
        """The options of engines on shards."""
        from deltic.engine.shards.copies import Copies

        memory = task_memory(shards, self.spark)
        copies = Copies.within(memory) if shards.copies == "auto" else None
        return {"shards": shards.count, "rounds": shards.rounds, "task_memory": memory, "copies": copies}

    def _local(self, options: Mapping[str, Any], circuit: Circuit) -> LocalEngine:
        from deltic.engine.local.engine import LocalEngine
        from deltic.engine.local.plans import Plans

        return LocalEngine(circuit, **options, resources=self.resources, plans=Plans(self.rewrites))

    def _placed(self, circuit: Circuit, shards: Shards, spark: SparkSession, options: Mapping[str, Any]) -> Engine:
        """An engine that chooses, for each epoch, between the places that there are."""
        from deltic.engine.spark.costs import Costs
        from deltic.engine.spark.engine import spark_engine
        from deltic.engine.spark.job import run_each, run_job
        from deltic.engine.spark.placed import PlacedEngine
        from deltic.engine.spark.placement import Placement

        def on_shards(circuit: Circuit) -> ShardedEngine:
            job, each = partial(run_job, spark), partial(run_each, spark)
            split: dict[str, Any] = {**options, **self._split(shards)}
            return spark_engine(circuit, directory=shards.files(), run_tasks=job, run_each=each, **split)

        is_auto = self.name == "auto"
        executors: list[Place] = ["process", "job"] if shards.executor == "auto" else [shards.executor]
        places: list[Place] = ["local", *executors] if is_auto else executors
        placement = Placement(places, self.budget, Costs(shards.count, self.slots))
        return PlacedEngine(circuit, placement, on_shards, partial(self._local, options) if is_auto else None)

    def restored(self, circuit: Circuit, saved: Saved, tables_alone: bool) -> Engine:
        """An engine for the circuit with a state that was written by one of any kind."""
        engine, written = self.new(circuit), shards_of(saved)
        taken = {self.shards.count if self.shards else 0} | ({0} if self.name == "auto" else set())
        if written in taken:
            engine.restore(saved, tables_alone)
        else:
            name: EngineName = "spark" if written else "local"
            writer = replace(self, name=name, shards=Shards(written) if written else None, spark=None).new(circuit)
            writer.restore(saved, tables_alone)
            _move(writer, engine)
        return engine


def shards_of(saved: Saved) -> int:
    """How many shards have written a state; 0 for the local engine."""
    return len(saved.about.get("shards", ()))


def _move(old: Engine, new: Engine) -> None:
    """Let a new engine have the state of an old one of another kind."""
    from deltic.engine.local.engine import LocalEngine
    from deltic.engine.shards.engine import ShardedEngine
    from deltic.engine.spark.moving import move
    from deltic.engine.spark.placed import PlacedEngine

    assert isinstance(old, LocalEngine | ShardedEngine)
    if isinstance(new, PlacedEngine):
        new.take_over(old)
    else:
        assert isinstance(new, LocalEngine | ShardedEngine)
        move(old, new)
