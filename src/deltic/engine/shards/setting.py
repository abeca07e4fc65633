"""What shards are to keep, and how: the program of a circuit, under the options that an engine was given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT, RECURSION_TIMEOUT
from deltic.engine.local.recursion.refresh import AUTO, Refresh
from deltic.engine.local.recursion.strategy import Strategies, Strategy
from deltic.engine.placed import RoundsChoice
from deltic.engine.shards.copies import Copies
from deltic.engine.shards.options import Options
from deltic.engine.shards.recursion import MaintenanceChoice
from deltic.program.compiling import Compiler
from deltic.program.program import Program

SHARDS = 8
"""How many shards there are where nothing else is said."""


@dataclass(frozen=True)
class Setting:
    """The options of an engine on shards; see `LocalEngine` for those that are not told here.

    Recursions that preserve no key take rounds of exchanges over all shards, or are on one of them, as `rounds` says:
    with "auto" those are in rounds that are `outgrown`, which become those that have more than `task_memory` bytes.
    Every shard has a copy of the relations that are `copied`, which become those that `copies` finds to be small.
    Runs of `frozen` rows and more are merged by compactions; without a number epochs merge all.
    """

    strategy: Strategy = Strategy.NESTED
    refresh: Refresh = AUTO
    iteration_limit: int = ITERATION_LIMIT
    recursion_timeout: float | None = RECURSION_TIMEOUT
    strategies: Mapping[str, Strategy] | None = None
    shards: int = SHARDS
    rounds: RoundsChoice = "always"
    task_memory: int | None = None
    outgrown: Collection[str] = ()
    copies: Copies | None = None
    copied: Mapping[str, str] = field(default_factory=dict)
    frozen: int | None = None
    compiler: Compiler = field(default_factory=Compiler)

    def defined(self, circuit: Circuit) -> ShardDefinition:
        """What is to be kept of a circuit; raises UnsupportedError when it has no derivative."""
        program = self.compiler.program(circuit, strict=self.refresh.strict)
        chosen = {program.sinks.get(view, view): s for view, s in (self.strategies or {}).items()}
        sources = [op for op in circuit.operators if isinstance(op, ops.Source)]
        bags = frozenset(source.name for source in sources if not source.is_set)
        keys = {program.tables[s.name]: tuple(map(s.schema.index, s.key)) for s in sources if s.key}
        options = Options(
            self.shards,
            bags,
            keys,
            Strategies(self.strategy, chosen),
            self.refresh,
            self.iteration_limit,
            self.recursion_timeout,
            self.task_memory,
            frozen=self.frozen,
        )
        return ShardDefinition(circuit, program, self, options)


@dataclass(frozen=True)
class ShardDefinition:
    """A circuit, its program, and how shards are to keep it: each of them receives `options`."""

    circuit: Circuit
    program: Program
    setting: Setting
    options: Options

    @property
    def maintained(self) -> MaintenanceChoice:
        """What has part in how the program is laid out."""
        setting, options = self.setting, self.options
        outgrown, copied = frozenset(setting.outgrown), frozenset(setting.copied)
        return MaintenanceChoice(options.strategies, options.refresh, setting.rounds, outgrown, copied, options.keys)

    def with_other(self, **options: Any) -> ShardDefinition:
        """The same program, which other options lay out in another way."""
        return replace(self, setting=replace(self.setting, **options))
