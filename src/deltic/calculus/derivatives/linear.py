"""Linear operators, whose derivative is the operator itself; operators without inputs; other operators on streams."""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.derivatives.table import NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node

_LINEAR = (ops.Map, ops.FlatMap, ops.Filter, ops.Plus, ops.Negate, ops.BundleRelation, ops.Sink)


@derivative(ops.Delay, "z⁻¹(Δa)", "DBSP Thm 4.4", "linear and time-invariant", "one change")
@derivative(ops.Differentiate, "D(Δa)", "DBSP Thm 4.4", "linear and time-invariant", "one change")
@derivative(ops.Keep, "f(Δa)", "DBSP Thm 4.4", "the identity is linear", "its input, as a relation of its own")
def linear_delta(op: ops.Operator, node: Node, views: NodeViews) -> int:
    """The same operator on the changes; on streams it must be time-invariant, too."""
    return views.builder.add(op, *map(views.delta, node.inputs))


for _operator in _LINEAR:
    derivative(_operator, "f(Δa)", "DBSP Thm 4.4", "linear: f(a + Δa) = f(a) + f(Δa)")(linear_delta)


@derivative(ops.Source, "Δa", "DBSP Prop. 4.2 inversion", "D(I(Δa)) = Δa: changes come in as they are", "the table")
@derivative(ops.Import, "Δa", "DBSP Prop. 4.2 inversion", "D(I(Δa)) = Δa: changes come in as they are")
@derivative(ops.Feedback, "Δa", "DBSP Prop. 4.2 cycle, Prop. 5.7", "the change of a fixpoint is a fixpoint of changes")
@derivative(ops.Constant, "D(c)", "DBSP Def. 3.25", "all of it comes in the first epoch, and nothing later")
def leaf_delta(op: ops.Operator, node: Node, views: NodeViews) -> int:
    """D of the input; after `surround` an I follows each input, and D and I cancel before this rule applies.

    A constant changes once, in the first epoch.
    """
    return views.builder.add(ops.Differentiate(outer=views.outer), views.builder.add(op))


@derivative(
    ops.Integrate,
    "a; I(Δa) in another time",
    "DBSP Prop. 4.2 inversion, Thm 4.4",
    "D(I(a)) = a; linear and time-invariant",
    "the sum, in another time",
)
def integrate_delta(op: ops.Integrate, node: Node, views: NodeViews) -> int:
    """D(I(a)) is a; in another time I is its own derivative, and the change of a set is no set."""
    if op.outer == views.outer:
        return views.value(*node.inputs)
    return views.builder.add(replace(op, is_set=False), *map(views.delta, node.inputs))


@derivative(
    ops.BackEdge,
    "z⁻¹(Δα)",
    "DBSP Prop. 4.2 cycle",
    "the change of a fixpoint is a fixpoint of changes",
    "one change",
)
def back_edge_delta(op: ops.BackEdge, node: Node, views: NodeViews) -> int:
    """The change of a fixpoint is a fixpoint of changes: the back-edge carries changes."""
    return views.builder.add(replace(op, is_set=False))


@derivative(
    ops.DistinctDelta,
    "H(a', d') − H(a, d)",
    "DBSP Prop. 6.12 and Def. 4.1",
    "only rows of d or d' can enter or leave the set",
    "a and d",
)
def distinct_delta_delta(op: ops.DistinctDelta, node: Node, views: NodeViews) -> int:
    """The second change of a set: H after the change less H before it, each on the rows of its own change."""
    after = views.builder.add(op, *map(views.new, node.inputs))
    before = views.builder.add(op, *map(views.old, node.inputs))
    return views.builder.add(ops.Plus(), after, views.builder.add(ops.Negate(), before))


@derivative(
    ops.Window,
    "D(α), α = W(Δa + z⁻¹(α), Δθ)",
    "DBSP §8.5",
    "time never goes back, so what left the window never returns",
    "the window",
)
def window_delta(op: ops.Window, node: Node, views: NodeViews) -> int:
    """The state is only the window, not the relation: time never goes back, so a row that left it never returns."""
    return views.builder.add(ops.WindowDelta(op), *map(views.delta, node.inputs))
