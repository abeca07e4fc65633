"""The derivative table: for each operator, the circuit that computes its change from its inputs' changes.

Every row is an identity between streams, Q^Δ = D ∘ ↑Q ∘ I [DBSP Def. 4.1], written with three views of
each input: its change Δ, its new value I(Δ) and its old value z⁻¹(I(Δ)). The rows are in the other modules of
this package, one for each kind of operator.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node


class NodeViews(Protocol):
    """The views of the nodes of the old circuit as nodes of the incremental circuit."""

    builder: CircuitBuilder
    outer: int
    """The time of the changes: 0 for the circuit's own steps, 1 for those of the circuit around it, …"""

    def value(self, number: int) -> int:
        """Return the undifferentiated stream of node `number`."""

    def delta(self, number: int) -> int:
        """Return the change of node `number`."""

    def new(self, number: int) -> int:
        """Its value after the change."""

    def old(self, number: int) -> int:
        """Its value before the change."""

    def kept(self, number: int) -> int:
        """Its value after the change as an integral node, for operators that probe it."""

    def body(self, circuit: Circuit, outer: int) -> Circuit:
        """Return the incremental form of a nested circuit, with changes in the time `outer` as its delays count it."""


Rule = Callable[[Any, Node, NodeViews], int]


class Cost(enum.Enum):
    """How the work for a change grows."""

    CHANGE = "O(change)"
    LOGARITHMIC = "O(change × log)"
    MATCHES = "O(change × matches)"
    STATE = "O(state)"


@dataclass(frozen=True)
class Derivative:
    """A row of the table: the rule, its formula, its source, and explanations for users.

    `why` is the reason that the formula is right, `keeps` the state that it needs from one epoch to the next.
    """

    rule: Rule
    formula: str
    source: str
    why: str
    keeps: str = "nothing"
    cost: Cost = Cost.CHANGE

    @property
    def is_fallback(self) -> bool:
        """Whether the operator is recomputed from its whole inputs."""
        return self.rule is _minus


DERIVATIVES: dict[type[ops.Operator], Derivative] = {}


def derivative(
    operator: type[ops.Operator], formula: str, source: str, why: str, keeps: str = "nothing", cost: Cost = Cost.CHANGE
) -> Callable[[Rule], Rule]:
    """Register a rule for an operator in the table."""

    def enter(rule: Rule) -> Rule:
        DERIVATIVES[operator] = Derivative(rule, formula, source, why, keeps, cost)
        return rule

    return enter


def _minus(op: ops.Operator, node: Node, views: NodeViews) -> int:
    """D(f(I(Δa), …)): correct for every operator whose value depends only on its inputs' values."""
    computed = views.builder.add(op, *map(views.kept, node.inputs))
    return views.builder.add(ops.Differentiate(outer=views.outer), computed)


FALLBACK = Derivative(
    _minus,
    "f(a ⊕ Δa) ⊖ f(a)",
    "FIX Prop. 7, DBSP Def. 4.1",
    "the table has no row for it: it is recomputed and compared",
    "its inputs and its output",
    Cost.STATE,
)


def derivative_of(kind: type[ops.Operator]) -> Derivative:
    """Return the row for a type of operator, `FALLBACK` if the table has none."""
    return DERIVATIVES.get(kind, FALLBACK)
