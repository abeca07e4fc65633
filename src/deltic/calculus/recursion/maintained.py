"""A recursive query that is kept fresh: the change of its semi-naive evaluation [DBSP §7.2]."""

from __future__ import annotations

from deltic.calculus.lift import lift
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit.graph import Circuit


def maintained(circuit: Circuit) -> Circuit:
    """Steps 3 to 5 of [DBSP Alg. 6.13] for a circuit with brackets, whose edges inside become streams of streams.

    In a body, an operator with `outer 1` has its past in the step before, one without in the iteration before; the
    changes are those of both at once, D(↑D(·)).
    """
    return push(surround(lift(circuit)))
