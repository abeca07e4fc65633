"""What shards are to keep, and how: the program of a circuit, under the options that an engine was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from deltic.circuit.graph import Circuit
from deltic.engine.executors.placed import RoundsChoice
from deltic.engine.executors.shards.options import Options
from deltic.engine.executors.shards.recursion import MaintenanceChoice
from deltic.engine.options import EngineOptions
from deltic.program.program import Program


@dataclass(frozen=True)
class ShardDefinition:
    """A circuit, its program, and how shards are to keep it: each of them has those `options` of the `given`.

    Where `rounds` go by size, those recursions are in rounds that have `outgrown` a task. Every shard has a copy of the
    relations that are `copied`, each for a reason.
    """

    circuit: Circuit
    program: Program
    given: EngineOptions
    options: Options
    rounds: RoundsChoice
    outgrown: frozenset[str] = frozenset()
    copied: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, circuit: Circuit, given: EngineOptions) -> ShardDefinition:
        """What is to be kept of a circuit; raises UnsupportedError when it has no derivative."""
        program = given.compiled(circuit)
        return cls(circuit, program, given, Options.of(circuit, program, given), given.rounds)

    def of_other(self, circuit: Circuit) -> ShardDefinition:
        """What is to be kept of another circuit, laid out under the same options."""
        other = ShardDefinition.of(circuit, self.given)
        return other.with_other(rounds=self.rounds, outgrown=self.outgrown, copied=self.copied)

    @property
    def maintained(self) -> MaintenanceChoice:
        """What has part in how the program is laid out."""
        options, copied = self.options, frozenset(self.copied)
        return MaintenanceChoice(options.strategies, options.refresh, self.rounds, self.outgrown, copied, options.keys)

    def with_other(self, **options: Any) -> ShardDefinition:
        """The same program, which other options lay out in another way."""
        return replace(self, **options)
