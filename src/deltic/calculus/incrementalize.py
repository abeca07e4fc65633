"""Incrementalization: from a circuit Q to Q^Δ, which turns changes of inputs into changes of outputs."""

from __future__ import annotations

from deltic.calculus.fallbacks import refuse_fallbacks
from deltic.calculus.lift import lift
from deltic.calculus.passes import Pass, optimize
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit.graph import Circuit

ALGORITHM_6_13: tuple[Pass, ...] = (optimize, lift, surround, push)
"""Steps 2 to 5; step 1, the translation of a query into a circuit, is a front-end's. After each the circuit runs."""


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
