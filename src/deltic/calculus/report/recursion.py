"""The chain of [DBSP §7] for a recursive view: naive, semi-naive, maintained."""

from __future__ import annotations

from collections.abc import Iterator

from deltic.calculus.recursion import chain
from deltic.calculus.report.bounded import bounded
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.types import BundleType

_STEPS = {
    "naive": "naive, every iteration from all rows",
    "semi_naive": "semi-naive, by the cycle rule: every iteration from what the one before found",
    "maintained": "maintained, lifted and incrementalized: `outer 1` is the past of epochs, else that of iterations",
}


def recursion_lines(circuit: Circuit, most: int = 50) -> Iterator[str]:
    """The bodies of the brackets that the last fixpoint of the circuit becomes, in `most` lines each at most.

    It is the one nearest to the view; a line names the relations of the others.
    """
    fixpoints = [n for n, op in enumerate(circuit.operators) if isinstance(op, ops.Fixpoint)]
    if not fixpoints:
        return
    steps = chain(circuit)
    for name, title in _STEPS.items():
        *_, last = (op for op in steps[name].operators if isinstance(op, ops.Bracket))
        yield f"{title} (%{fixpoints[-1]}: {_relations(circuit, fixpoints[-1])}):"
        yield from (f"  {line}" for line in bounded(str(last.body).splitlines(), most))
    if others := [f"%{n}: {_relations(circuit, n)}" for n in fixpoints[:-1]]:
        yield f"the others likewise: {'; '.join(others)}"


def _relations(circuit: Circuit, number: int) -> str:
    type_ = circuit.nodes[number].type
    assert isinstance(type_, BundleType)
    return ", ".join(name for name, _ in type_.entries)
