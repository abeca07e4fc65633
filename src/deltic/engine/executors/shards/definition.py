"""The definition that shards maintain: the program of a circuit, with the options of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from deltic.circuit.graph import Circuit
from deltic.engine.executors.shards.recursion import MaintenanceChoice
from deltic.engine.options import EngineOptions, Options
from deltic.program.frontiers import Frontiers, frontiers
from deltic.program.program import Program


@dataclass(frozen=True, kw_only=True)
class ShardDefinition(MaintenanceChoice):
    """A circuit, its program, and how shards maintain it, which comes from the engine's options `given`."""

    circuit: Circuit
    program: Program
    given: EngineOptions

    @classmethod
    def of(cls, circuit: Circuit, given: EngineOptions) -> ShardDefinition:
        """Return the definition of a circuit. UnsupportedError if it has no derivative."""
        program = given.compiled(circuit)
        options = Options.of(circuit, program, given)
        return cls(options, given.rounds, circuit=circuit, program=program, given=given)

    @cached_property
    def frontiers(self) -> Frontiers:
        """The frontiers of the program's relations."""
        return frontiers(self.program)
