"""The definition that shards maintain: the program of a circuit, with the options of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from deltic.circuit.graph import Circuit
from deltic.engine.executors.options import Options
from deltic.engine.executors.placed import RoundsChoice
from deltic.engine.executors.shards.recursion import MaintenanceChoice
from deltic.engine.options import EngineOptions
from deltic.program.frontiers import Frontiers, frontiers
from deltic.program.program import Program


@dataclass(frozen=True)
class ShardDefinition:
    """A circuit, its program, and the shards' options, which come from the engine's options `given`.

    If the use of `rounds` depends on size, recursions that have `outgrown` a task use them. Every shard has a copy of
    the relations that are `copied`, each for a reason.
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
        """Return the definition of a circuit. UnsupportedError if it has no derivative."""
        program = given.compiled(circuit)
        return cls(circuit, program, given, Options.of(circuit, program, given), given.rounds)

    def of_other(self, circuit: Circuit) -> ShardDefinition:
        """Return the definition of another circuit, laid out with the same options."""
        other = ShardDefinition.of(circuit, self.given)
        return replace(other, rounds=self.rounds, outgrown=self.outgrown, copied=self.copied)

    @cached_property
    def frontiers(self) -> Frontiers:
        """The frontiers of the program's relations."""
        return frontiers(self.program)

    @property
    def maintained(self) -> MaintenanceChoice:
        """The options that decide how the program is laid out."""
        options, copied = self.options, frozenset(self.copied)
        return MaintenanceChoice(options.strategies, options.refresh, self.rounds, self.outgrown, copied, options.keys)
