"""Planning: rewrites of circuits that are chosen by the sizes of relations."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from deltic.calculus.passes import optimize
from deltic.calculus.planning.aggregate_early import aggregate_early
from deltic.calculus.planning.decision import ALL, COSTS, KeptDecision, RewriteCosts, Rewrites
from deltic.calculus.planning.eliminate import eliminate
from deltic.calculus.planning.share import share
from deltic.calculus.planning.statistics import Statistics
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline


def planned(
    circuit: Circuit,
    statistics: Statistics,
    rewrites: Rewrites = ALL,
    costs: RewriteCosts = COSTS,
    present: Collection[KeptDecision] = (),
) -> tuple[Circuit, tuple[KeptDecision, ...]]:
    """The circuit with the relations that a plan adds, with the same values of all sinks, and the decisions.

    Without decisions it is the circuit itself. Of the `present` decisions, those that eliminate variables are kept.
    """
    result, decisions = _optimized(circuit), list[KeptDecision]()
    if rewrites.share:
        result, made = share(result, statistics, costs)
        decisions += made
    if rewrites.eliminate:
        result, made = aggregate_early(result, statistics, costs)
        decisions += made
        result, made = eliminate(result, statistics, costs, present)
        decisions += made
    return (result if decisions else circuit), tuple(decisions)


@lru_cache(maxsize=4)
def _optimized(circuit: Circuit) -> Circuit:
    """The circuit before planning; cached, because the same circuit is planned repeatedly."""
    return inline(optimize(circuit))
