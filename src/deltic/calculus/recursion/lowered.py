"""From the maintained circuit to the operator that the engines run."""

from __future__ import annotations

from deltic.calculus.recursion.maintained import maintained
from deltic.calculus.recursion.naive import naive
from deltic.calculus.recursion.semi_naive import semi_naive
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.errors import UnsupportedError


def lowered(circuit: Circuit, query: Circuit) -> Circuit:
    """The maintained form of a query with a `FixpointDelta` for each bracket that maintains a fixpoint of the query.

    D and ↑D commute [DBSP §5.2.4], so by the cycle rule from right to left the changes from iteration to iteration
    may be left to whoever iterates: a FixpointDelta has the changes of each iteration from step to step alone, and the
    local engine keeps the iteration with each row instead. Raises UnsupportedError for a bracket that is no
    fixpoint's.
    """
    deltas = _deltas(query)
    builder = CircuitBuilder(circuit.depth)
    numbers: list[int] = []
    for number, node in enumerate(circuit.nodes):
        operator = node.operator
        if isinstance(operator, ops.Bracket):
            if operator not in deltas:
                raise UnsupportedError(f"%{number} {operator.keyword}: it maintains no fixpoint of the query")
            operator = deltas[operator]
        numbers.append(builder.add(operator, *(numbers[i] for i in node.inputs)))
    return builder.build()


def _deltas(query: Circuit) -> dict[ops.Operator, ops.Operator]:
    """For each fixpoint of the query the bracket that maintains it and the derivative that engines run."""
    brackets = _inner(maintained(semi_naive(naive(query))), ops.Bracket)
    return dict(zip(brackets, _inner(maintained(query), ops.FixpointDelta), strict=True))


def _inner(circuit: Circuit, kind: type[ops.Operator]) -> list[ops.Operator]:
    return [operator for operator in circuit.operators if isinstance(operator, kind)]
