"""From a circuit to the one that an engine runs, by what is known of its tables."""

from __future__ import annotations

from deltic.calculus.passes import optimize
from deltic.calculus.planning.aggregate_early import aggregate_early
from deltic.calculus.planning.decision import ALL, COSTS, Costs, Decision, Rewrites
from deltic.calculus.planning.eliminate import eliminate
from deltic.calculus.planning.share import share
from deltic.calculus.planning.statistics import Statistics
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline


def planned(
    circuit: Circuit, statistics: Statistics, rewrites: Rewrites = ALL, costs: Costs = COSTS
) -> tuple[Circuit, tuple[Decision, ...]]:
    """The circuit with what a plan adds to it, of the same sinks with the same values, and what was decided.

    Where nothing is decided it is the circuit itself.
    """
    found, decisions = optimize(inline(circuit)), list[Decision]()
    if rewrites.share:
        found, made = share(found, statistics, costs)
        decisions += made
    if rewrites.eliminate:
        for rewrite in (aggregate_early, eliminate):
            found, made = rewrite(found, statistics, costs)
            decisions += made
    return (found if decisions else circuit), tuple(decisions)
