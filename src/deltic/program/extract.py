"""From an incremental circuit to its program."""

from __future__ import annotations

import deltic.program.operators  # noqa: F401  enters all operators into the tables of `scope`
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.program.naming import named
from deltic.program.program import Program
from deltic.program.scope import Drafts, Scope


def extract(circuit: Circuit) -> Program:
    """The program of an incremental circuit; UnsupportedError where an operator has no place in one."""
    drafts = Drafts()
    scope = Scope(drafts, circuit)
    for number, node in enumerate(circuit.nodes):
        if isinstance(node.operator, ops.Source):
            scope.relation(number)
        if isinstance(node.operator, ops.Sink):
            drafts.sinks[node.operator.name] = scope.relation(*node.inputs)
    return named(drafts)
