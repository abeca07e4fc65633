"""The chain of [DBSP §7] for the fixpoints of a circuit: naive, semi-naive, maintained."""

from __future__ import annotations

from collections.abc import Iterator

from deltic.calculus.recursion import chain
from deltic.calculus.report.bounded import bounded
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit

_STEPS = {
    "naive": "naive, every iteration from all rows",
    "semi_naive": "semi-naive, by the cycle rule: every iteration from what the one before found",
    "maintained": "maintained, lifted and incrementalized: `outer 1` is the past of epochs, else that of iterations",
}


def recursion_lines(circuit: Circuit, most: int = 50) -> Iterator[str]:
    """The bodies of the brackets that each fixpoint becomes, in `most` lines each at most."""
    steps = chain(circuit)
    for name, title in _STEPS.items():
        for number, operator in enumerate(steps[name].operators):
            if isinstance(operator, ops.Bracket):
                yield f"{title} (%{number}):"
                yield from (f"  {line}" for line in bounded(str(operator.body).splitlines(), most))
