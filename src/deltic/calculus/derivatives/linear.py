"""Linear operators, whose derivative is the operator itself, and operators without inputs."""

from __future__ import annotations

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
