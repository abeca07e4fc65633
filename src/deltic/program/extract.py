"""From an incremental circuit to its program."""

from __future__ import annotations

import deltic.program.operators  # noqa: F401  enters all operators into the tables of `scope`
from deltic.calculus.incrementalize import fallbacks, incrementalize
from deltic.calculus.passes import optimize
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline
from deltic.errors import UnsupportedError
from deltic.program.histories import Nested
from deltic.program.naming import named
from deltic.program.program import Program
from deltic.program.scope import Drafts, Scope
from deltic.program.unsupported import needs_fallback


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


def program_of(circuit: Circuit, *, strict: bool = False) -> Program:
    """The program that keeps a circuit fresh; UnsupportedError, where `strict` for each operator without derivative."""
    incremental = incrementalize(circuit, strict=strict)
    try:
        program = extract(incremental)
        if strict:
            _refuse_nested(program)
        return program
    except UnsupportedError:
        for number, operator in fallbacks(inline(optimize(circuit))):
            raise needs_fallback(number, operator) from None
        raise


def _refuse_nested(program: Program) -> None:
    """Raise UnsupportedError for a fixpoint inside another."""
    for name, relation in program.relations.items():
        if isinstance(relation.definition, Nested):
            view, *_ = [*program.views_over(name), name]
            raise UnsupportedError(
                f"{view}: the recursion {relation.definition.component} stands in another, and is looked at anew at "
                "each iteration at which what enters it changes; write the two as one recursion, whose relations "
                "depend on each other, or do without `strict`"
            )
