"""The programs of a pipeline, compiled together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.types import Schema
from deltic.datalog import CheckedProgram, Program, check, lower


@dataclass(frozen=True)
class Compiled:
    """Programs of one namespace and the circuit that they make together."""

    programs: tuple[Program, ...]
    checked: CheckedProgram
    circuit: Circuit

    @property
    def tables(self) -> dict[str, Schema]:
        """The relations whose rows come from outside."""
        return {r.name: r.schema for r in self.checked.relations.values() if r.is_table}

    @property
    def views(self) -> dict[str, Schema]:
        """The relations that rules and facts define."""
        return {r.name: r.schema for r in self.checked.relations.values() if r.is_derived}

    @property
    def relations(self) -> dict[str, Schema]:
        """All relations."""
        return {r.name: r.schema for r in self.checked.relations.values()}

    @property
    def recursions(self) -> list[list[str]]:
        """The recursive views, those that depend on each other together."""
        together = defaultdict[int, list[str]](list)
        for name, number in self.circuit.sinks.items():
            node = self.circuit.nodes[number]
            if isinstance(node.operator, ops.Component):
                together[node.inputs[0]].append(name)
        return list(together.values())


def compiled(programs: Sequence[Program]) -> Compiled:
    """Programs checked and lowered together; raises ProgramError with all findings."""
    checked = check(programs)
    return Compiled(tuple(programs), checked, lower(checked))
