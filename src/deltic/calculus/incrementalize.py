"""Incrementalization: from a circuit Q to Q^Δ, which maps changes of inputs to changes of outputs."""

from __future__ import annotations

from collections.abc import Iterator

from deltic.calculus.derivatives import derivative_of
from deltic.calculus.passes import optimize
from deltic.calculus.passes.rewriting import Pass
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline
from deltic.circuit.operators import Operator
from deltic.circuit.operators.custom import Apply
from deltic.errors import UnsupportedError


def lift(circuit: Circuit) -> Circuit:
    """↑Q: every operator applied at every time; by [DBSP Prop. 3.3] and [DBSP Prop. 5.7] this lifts the whole circuit.

    The lifted circuit is written like the original, because interpreters apply nodes at each step anyway. Operators
    on streams, such as an explicit delay, are not lifted; they count steps already.
    """
    return circuit


def fallbacks(circuit: Circuit) -> Iterator[tuple[int, Operator]]:
    """Yield the nodes, in bodies too, whose change is computed by f(a ⊕ δ) ⊖ f(a), with their operators."""
    for number, operator in enumerate(circuit.operators):
        if derivative_of(type(operator)).is_fallback:
            yield number, operator
        for _, body in operator.bodies():
            yield from fallbacks(body)


def refuse_fallbacks(circuit: Circuit) -> None:
    """Raise UnsupportedError for the first operator, in bodies too, without a row in the derivative table."""
    for number, operator in fallbacks(circuit):
        if isinstance(operator, Apply):
            message, remedy = f"operator {operator.called} has no derivative", "give it one, or a state"
        else:
            message, remedy = "the calculus has no derivative for it", "use other operators"
        raise UnsupportedError(
            f"%{number} {operator.keyword}: {message}, so that each change would "
            f"recompute it from its whole inputs; {remedy}, or do without `strict`"
        )


ALGORITHM_6_13: tuple[Pass, ...] = (optimize, inline, lift, surround, push)
"""The five steps, from circuit to circuit. What is left of step 1, after a front-end has translated each query by the
rules of Table 1, is the row "Composition": the circuits of sub-queries are put where they are called. Step 2 comes
first, for each of them by itself, so that a definition is optimized once, whatever else comes or goes."""


def incrementalize(circuit: Circuit) -> Circuit:
    """Q^Δ = D ∘ ↑Q ∘ I, in a form that computes on changes [DBSP Alg. 6.13].

    Sources, imports and feedbacks of the result carry changes; so do its sinks. An operator without a row in the
    derivative table is recomputed from its whole inputs whenever one of them changes, which is correct but slow.
    """
    for step in ALGORITHM_6_13:
        circuit = step(circuit)
    return circuit
