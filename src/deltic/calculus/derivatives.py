"""The derivative table: for each operator, the circuit that computes its change from its inputs' changes.

Every row is an identity between streams, Q^Δ = D ∘ ↑Q ∘ I [DBSP Def. 4.1], written with three views of
each input: its change Δ, its new value I(Δ) and its old value z⁻¹(I(Δ)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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


def _linear(op: ops.Operator, node: Node, views: Views) -> int:
    return views.builder.add(op, *map(views.delta, node.inputs))


for _operator in (ops.Map, ops.Filter, ops.Plus, ops.Negate, ops.Component, ops.Sink):
    DERIVATIVES[_operator] = Derivative(_linear, "f(Δa)", "DBSP Thm 4.4")


@derivative(ops.Source, "Δa", "DBSP Def. 4.1")
@derivative(ops.Feedback, "Δa", "DBSP Prop. 5.7")
def leaf_delta(op: ops.Source | ops.Feedback, node: Node, views: Views) -> int:
    """The stream now carries changes of the table or of the recursive relation."""
    return views.builder.add(replace(op, is_set=False))


@derivative(ops.Import, "Δa", "DBSP Prop. 5.7")
def import_delta(op: ops.Import, node: Node, views: Views) -> int:
    """Inside the derivative of a fixpoint, imports carry changes."""
    return views.builder.add(replace(op, type=replace(op.type, is_set=False)))


@derivative(ops.Constant, "D(c): all of c in the first epoch, then nothing", "DBSP Def. 3.25")
def constant_delta(op: ops.Constant, node: Node, views: Views) -> int:
    """A constant changes once, from nothing."""
    return views.builder.add(ops.Differentiate(), views.builder.add(op))


@derivative(ops.Join, "Σᵢ a₁' ⋈ … ⋈ Δaᵢ ⋈ … ⋈ aₙ, new before i and old after", "DBSP Thm 4.5")
def join_delta(op: ops.Join, node: Node, views: Views) -> int:
    """One delta query for each input; nothing is joined in full."""
    terms = []
    for i, changed in enumerate(node.inputs):
        before = [views.new(n) for n in node.inputs[:i]]
        after = [views.old(n) for n in node.inputs[i + 1 :]]
        terms.append(views.builder.add(op, *before, views.delta(changed), *after))
    return views.builder.add(ops.Plus(), *terms)


@derivative(ops.Antijoin, "Δa ▷ b' − a ⋈ Δb", "DBSP Table 1, Thm 4.5")
def antijoin_delta(op: ops.Antijoin, node: Node, views: Views) -> int:
    """a ▷ b is a − a ⋈ b for a set b over columns of a, so bilinear up to the term in a alone."""
    left, right = node.inputs
    kept = views.builder.add(op, views.delta(left), views.kept(right))
    lost = views.builder.add(ops.Join(), views.old(left), views.delta(right))
    return views.builder.add(ops.Plus(), kept, views.builder.add(ops.Negate(), lost))


@derivative(ops.Distinct, "H(a, Δa)", "DBSP Prop. 6.12")
def distinct_delta(op: ops.Distinct, node: Node, views: Views) -> int:
    """Only rows of the change can enter or leave the set."""
    (source,) = node.inputs
    return views.builder.add(ops.DistinctDelta(), views.old(source), views.delta(source))


@derivative(ops.Fixpoint, "fix(body)^Δ, over Z-sets of (row, iteration)", "DBSP §7.2")
def fixpoint_delta(op: ops.Fixpoint, node: Node, views: Views) -> int:
    """The body's derivative, lifted to the nested streams of the iteration."""
    from deltic.calculus.incrementalize import incrementalize

    changed = ops.FixpointDelta(op.body, incrementalize(op.body))
    return views.builder.add(changed, *map(views.delta, node.inputs))
