"""The options of an engine, which do not change with its definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT, RECURSION_TIMEOUT
from deltic.engine.executors.placed import RoundsChoice
from deltic.engine.executors.shards.copies import Copies
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.plan.plans import Plans
from deltic.engine.recursion.strategy import Strategies, Strategy
from deltic.engine.refresh import AUTO, Refresh
from deltic.engine.resources import ResourceLimits
from deltic.program.compiling import Compiler
from deltic.program.program import Program

SHARDS = 8
"""How many shards there are where nothing else is said."""


@dataclass(frozen=True)
class EngineOptions:
    """How an engine keeps its views fresh, and within which limits.

    `strategies` are those of chosen recursive views, and of what is mutually recursive with them; the others have
    `strategy`. An epoch with a recursion of more than `iteration_limit` iterations, or of `recursion_timeout` seconds,
    is rejected.

    An engine in one store uses `resources` of the machine, and keeps hidden relations by `plans`.

    One on shards has so many of them. Recursions that preserve no key take rounds of exchanges over all shards, or are
    on one of them, as `rounds` says: with "auto" those are in rounds that would have more than `task_memory` bytes.
    Every shard has a copy of the relations that `copies` finds to be small. Runs of `frozen` rows and more are merged
    by compactions; without a number epochs merge all.
    """

    strategy: Strategy = Strategy.NESTED
    refresh: Refresh = AUTO
    iteration_limit: int = ITERATION_LIMIT
    recursion_timeout: float | None = RECURSION_TIMEOUT
    strategies: Mapping[str, Strategy] = field(default_factory=dict)
    thresholds: Thresholds = DEFAULTS
    compiler: Compiler = field(default_factory=Compiler)
    resources: ResourceLimits = field(default_factory=ResourceLimits)
    plans: Plans = field(default_factory=Plans)
    shards: int = SHARDS
    rounds: RoundsChoice = "always"
    task_memory: int | None = None
    copies: Copies | None = None
    frozen: int | None = None

    def compiled(self, circuit: Circuit) -> Program:
        """The program of a circuit; raises UnsupportedError where it has no derivative."""
        return self.compiler.program(circuit, strict=self.refresh.strict)

    def strategies_of(self, program: Program) -> Strategies:
        """How the recursions of a program are maintained; a hidden view is a relation of that name."""
        chosen = {program.sinks.get(view, view): strategy for view, strategy in self.strategies.items()}
        return Strategies(self.strategy, chosen)
