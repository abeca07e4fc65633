"""Operators without a row of their own in the derivative table."""

from __future__ import annotations

from collections.abc import Iterator

from deltic.calculus.derivatives import derivative_of
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Operator
from deltic.errors import UnsupportedError


def fallbacks(circuit: Circuit) -> Iterator[tuple[int, Operator]]:
    """The nodes, in bodies too, whose change is computed by f(a ⊕ δ) ⊖ f(a): number and operator of each."""
    for number, operator in enumerate(circuit.operators):
        if derivative_of(type(operator)).is_fallback:
            yield number, operator
        for _, body in operator.bodies():
            yield from fallbacks(body)


def refuse_fallbacks(circuit: Circuit) -> None:
    """Raise UnsupportedError for the first operator, in bodies too, without a row in the derivative table."""
    for number, operator in fallbacks(circuit):
        raise UnsupportedError(
            f"%{number} {operator.keyword}: the calculus has no derivative for it, so that each change would "
            "compute it anew from its whole inputs; use other operators, or do without `strict`"
        )
