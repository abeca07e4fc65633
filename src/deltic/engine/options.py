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
"""The default number of shards."""


@dataclass(frozen=True)
class EngineOptions:
    """How an engine maintains its views, and within which limits.

    `strategies` are those of chosen recursive views, and of relations that are mutually recursive with them; other
    recursions have `strategy`. An epoch with a recursion of more than `iteration_limit` iterations, or of
    `recursion_timeout` seconds, is rejected.

    An engine with one store uses `resources` of the machine, and hidden relations according to `plans`.

    An engine on shards has `shards` of them. Recursions that preserve no key run in rounds of exchanges over all
    shards, or on one of them, according to `rounds`: with "auto", those run in rounds that would have more than
    `task_memory` bytes. Every shard has a copy of the relations that `copies` finds to be small. Runs of at least
    `frozen` rows are merged by compactions; with None, epochs merge all runs.
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
        """Return the program of a circuit. UnsupportedError if it has no derivative."""
        return self.compiler.program(circuit, strict=self.refresh.strict)

    def strategies_of(self, program: Program) -> Strategies:
        """Return the strategies of a program's recursions; a hidden view is a relation of that name."""
        chosen = {program.sinks.get(view, view): strategy for view, strategy in self.strategies.items()}
        return Strategies(self.strategy, chosen)
