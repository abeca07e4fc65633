"""Extracting the program of an incremental circuit."""

from __future__ import annotations

import deltic.program.operators  # noqa: F401  enters all operators into the tables of `scope`
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.program.linking import LinkedProgram, link
from deltic.program.naming import NamingFacts
from deltic.program.program import Program
from deltic.program.scope import ProgramBuilder, Scope


def extract(circuit: Circuit) -> Program:
    """The program of an incremental circuit; UnsupportedError where programs cannot express an operator."""
    scope, linked = Scope(ProgramBuilder(), circuit), LinkedProgram()
    for number, node in enumerate(circuit.nodes):
        match node.operator:
            case ops.Source(name=name):
                linked.tables[name] = scope.relation(number)
            case ops.Sink(name=name):
                linked.sinks[name] = scope.relation(*node.inputs)
            case ops.Keep(name=name):
                linked.wanted.setdefault(scope.relation(number), name)
    return link(scope.drafts, linked, NamingFacts())
