"""The derivative table: for each operator, the circuit that computes its change from its inputs' changes.

Every row is an identity between streams, Q^Δ = D ∘ ↑Q ∘ I [DBSP Def. 4.1], written with three views of
each input: its change Δ, its new value I(Δ) and its old value z⁻¹(I(Δ)). The rows are in the other modules of
this package, one for each kind of operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder, Node
from deltic.errors import UnsupportedError


class Views(Protocol):
    """The three views of the nodes of the circuit that is being differentiated, as nodes of the new one."""

    builder: CircuitBuilder

    def delta(self, number: int) -> int:
        """The change of node `number`."""

    def new(self, number: int) -> int:
        """Its value after the change."""

    def old(self, number: int) -> int:
        """Its value before the change."""

    def kept(self, number: int) -> int:
        """Its value after the change as an integral of its own, for operators that probe it."""


Rule = Callable[[Any, Node, Views], int]


@dataclass(frozen=True)
class Derivative:
    """A row of the table: the rule, its formula as a reader knows it, and its source."""

    rule: Rule
    formula: str
    source: str


DERIVATIVES: dict[type[ops.Operator], Derivative] = {}


def derivative(operator: type[ops.Operator], formula: str, source: str) -> Callable[[Rule], Rule]:
    """Enter a rule for an operator into the table."""

    def enter(rule: Rule) -> Rule:
        DERIVATIVES[operator] = Derivative(rule, formula, source)
        return rule

    return enter


def derivative_of(operator: ops.Operator) -> Derivative:
    """The row for an operator; UnsupportedError when the table has none."""
    if type(operator) not in DERIVATIVES:
        raise UnsupportedError(f"{operator.keyword}: the calculus has no derivative for it")
    return DERIVATIVES[type(operator)]
