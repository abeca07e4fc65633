"""The five steps of [DBSP Alg. 6.13] for one circuit."""

from __future__ import annotations

from collections.abc import Iterator

from deltic.calculus.inside import operators_inside
from deltic.calculus.passes import OPTIMIZATIONS, optimize
from deltic.calculus.report.bounded import bounded
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline


def step_lines(circuit: Circuit, most: int = 60) -> Iterator[str]:
    """A line for each step, and the optimized circuit where it is another one, in `most` lines at most."""
    composed = inline(circuit)
    calls = sum(isinstance(op, ops.Call) for op in operators_inside(circuit))
    yield f"1 inline     {calls} called circuits are put in their places" if calls else "1 inline     no calls"
    optimized = optimize(composed)
    if optimized == composed:
        yield "2 optimize   changes nothing"
    else:
        yield f"2 optimize   by {', '.join(applied(composed))}; the circuit is now:"
        yield from (f"    {line}" for line in bounded(str(optimized).splitlines(), most))
    yield "3 lift       every operator works at each epoch, those of a fixpoint at each of its iterations"
    yield f"4 surround   I after {_numbers(optimized, ops.Source)}, D before {_numbers(optimized, ops.Sink)}"
    yield "5 push       D is moved from the sinks to the I, by the derivative of each operator"


def applied(circuit: Circuit) -> list[str]:
    """The names of the passes that change the circuit, in the order in which `optimize` applies them."""
    names: dict[str, None] = {}
    before = None
    while before != circuit:
        before = circuit
        for rewrite in OPTIMIZATIONS:
            rewritten = rewrite(circuit)
            if rewritten != circuit:
                names[rewrite.__name__] = None
            circuit = rewritten
    return list(names)


def _numbers(circuit: Circuit, kind: type[ops.Operator]) -> str:
    return ", ".join(f"%{number}" for number, op in enumerate(circuit.operators) if isinstance(op, kind)) or "nothing"
