"""The options of the stores of an engine, which come from those of the engine and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT, RECURSION_TIMEOUT
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.keyed import key_columns
from deltic.engine.options import EngineOptions
from deltic.engine.recursion.strategy import Strategies, Strategy
from deltic.engine.refresh import AUTO, Refresh
from deltic.program.program import Program


@dataclass(frozen=True)
class Options:
    """The options that all stores of an engine share; `bags` are the tables that are bags.

    `keys` are the key columns of tables that have a key, by relation.
    """

    shards: int
    bags: frozenset[str] = frozenset()
    keys: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    strategies: Strategies = field(default_factory=lambda: Strategies(Strategy.NESTED, {}))
    refresh: Refresh = AUTO
    iteration_limit: int = ITERATION_LIMIT
    recursion_timeout: float | None = RECURSION_TIMEOUT
    task_memory: int | None = None
    """The most bytes on one shard of a recursion that may use rounds; None for no limit."""
    thresholds: Thresholds = DEFAULTS
    frozen: int | None = None
    """Runs of this many rows are merged by compactions, not by epochs that are jobs; None if epochs merge all."""

    @classmethod
    def of(cls, circuit: Circuit, program: Program, given: EngineOptions) -> Options:
        """Return the options of stores, from an engine's options and the tables of its circuit."""
        sources = [op for op in circuit.operators if isinstance(op, ops.Source)]
        return cls(
            given.shards,
            frozenset(source.name for source in sources if not source.is_set),
            key_columns(circuit, program),
            given.strategies_of(program),
            given.refresh,
            given.iteration_limit,
            given.recursion_timeout,
            given.task_memory,
            given.thresholds,
            given.frozen,
        )
