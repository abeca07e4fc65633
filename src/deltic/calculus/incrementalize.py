"""Incrementalization: from a circuit Q to Q^Δ, which turns changes of inputs into changes of outputs."""

from __future__ import annotations

from deltic.calculus.fallbacks import refuse_fallbacks
from deltic.calculus.lift import lift
from deltic.calculus.passes import Pass, optimize
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline

ALGORITHM_6_13: tuple[Pass, ...] = (inline, optimize, lift, surround, push)
"""The five steps, from circuit to circuit. What is left of step 1, after a front-end has translated each query by the
rules of Table 1, is the row "Composition": the circuits of sub-queries are put where they are called."""


def incrementalize(circuit: Circuit, *, strict: bool = False) -> Circuit:
    """Q^Δ = D ∘ ↑Q ∘ I, in such a form that it computes on changes [DBSP Alg. 6.13].

    Sources, imports and feedbacks of the result carry changes; so do its sinks. An operator that has no row in the
    derivative table is computed anew from its whole inputs wherever one of them changes, which is right but slow;
    with `strict`, UnsupportedError names it instead.
    """
    if strict:
        refuse_fallbacks(circuit)
    for step in ALGORITHM_6_13:
        circuit = step(circuit)
    return circuit
