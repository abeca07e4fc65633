"""The options of an engine, which do not change with its definitions, and those of its stores, which they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT, RECURSION_TIMEOUT
from deltic.engine.executors.placed import RoundsChoice
from deltic.engine.executors.shards.copies import Copies
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.keyed import key_columns
from deltic.engine.plan.plans import Plans
from deltic.engine.recursion.strategy import Strategies, Strategy
from deltic.engine.refresh import AUTO, Refresh
from deltic.engine.resources import ResourceLimits
from deltic.program.compiling import Compiler
from deltic.program.program import Program

SHARDS = 8
"""The default number of shards."""


@dataclass(frozen=True)
class StoreOptions:
    """The options of an engine that its stores share, also those of tasks in other processes."""

    refresh: Refresh = AUTO
    iteration_limit: int = ITERATION_LIMIT
    recursion_timeout: float | None = RECURSION_TIMEOUT
    thresholds: Thresholds = DEFAULTS
    shards: int = SHARDS
    task_memory: int | None = None
    """The most bytes on one shard of a recursion that may use rounds; None for no limit."""
    frozen: int | None = None
    """Runs of this many rows are merged by compactions, not by epochs that are jobs; None if epochs merge all."""


@dataclass(frozen=True)
class EngineOptions(StoreOptions):
    """How an engine maintains its views, and within which limits.

    `strategies` are those of chosen recursive views, and of relations that are mutually recursive with them; other
    recursions have `strategy`. An epoch with a recursion of more than `iteration_limit` iterations, or of
    `recursion_timeout` seconds, is rejected.

    An engine with one store uses `resources` of the machine, and hidden relations according to `plans`.

    An engine on shards has `shards` of them. Recursions that preserve no key run in rounds of exchanges over all
    shards, or on one of them, according to `rounds`: with "auto", those run in rounds that would have more than
    `task_memory` bytes. Every shard has a copy of the relations that `copies` finds to be small.
    """

    strategy: Strategy = Strategy.NESTED
    strategies: Mapping[str, Strategy] = field(default_factory=dict)
    compiler: Compiler = field(default_factory=Compiler)
    resources: ResourceLimits = field(default_factory=ResourceLimits)
    plans: Plans = field(default_factory=Plans)
    rounds: RoundsChoice = "always"
    copies: Copies | None = None

    def compiled(self, circuit: Circuit) -> Program:
        """Return the program of a circuit. UnsupportedError if it has no derivative."""
        return self.compiler.program(circuit, strict=self.refresh.strict)


@dataclass(frozen=True)
class Options(StoreOptions):
    """The options that all stores of an engine share; `bags` are the tables that are bags.

    `keys` are the key columns of tables that have a key, by relation.
    """

    bags: frozenset[str] = frozenset()
    keys: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    strategies: Strategies = field(default_factory=lambda: Strategies(Strategy.NESTED, {}))

    @classmethod
    def of(cls, circuit: Circuit, program: Program, given: EngineOptions) -> Options:
        """Return the options of stores, from an engine's options and the tables of its circuit.

        The strategy of a hidden view is that of the relation of its name.
        """
        shared: dict[str, Any] = {each.name: getattr(given, each.name) for each in fields(StoreOptions)}
        sources = [op for op in circuit.operators if isinstance(op, ops.Source)]
        bags = frozenset(source.name for source in sources if not source.is_set)
        chosen = {program.sinks.get(view, view): strategy for view, strategy in given.strategies.items()}
        strategies = Strategies(given.strategy, chosen)
        return cls(**shared, bags=bags, keys=key_columns(circuit, program), strategies=strategies)
