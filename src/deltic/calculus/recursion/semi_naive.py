"""Semi-naive evaluation, as the cycle rule makes it of naive evaluation [DBSP §7.1.1]."""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.inside import inside
from deltic.calculus.push import push
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit


def semi_naive(circuit: Circuit) -> Circuit:
    """The circuit with D pushed through the body of each bracket, from its sinks to the I of its imports.

    D ∘ (fix α. T(·, z⁻¹(α))) ∘ I = fix α. T^Δ(·, z⁻¹(α)) [DBSP Prop. 4.2 cycle]: every iteration computes from
    what the one before found. The changes are those from one iteration to the next.
    """
    return inside(circuit, _changes)


def _changes(operator: ops.Fixpoint | ops.Bracket) -> ops.Operator:
    if not isinstance(operator, ops.Bracket):
        return operator
    return replace(operator, body=push(operator.body), is_set=True)
