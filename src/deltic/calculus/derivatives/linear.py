"""Linear operators: the derivative of each is itself."""

from __future__ import annotations

from deltic.calculus.derivatives.table import DERIVATIVES, Derivative, NodeViews
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


def _linear(op: ops.Operator, node: Node, views: NodeViews) -> int:
    return views.builder.add(op, *map(views.delta, node.inputs))


for _operator in (ops.Map, ops.FlatMap, ops.Filter, ops.Plus, ops.Negate, ops.BundleRelation, ops.Sink):
    DERIVATIVES[_operator] = Derivative(_linear, "f(Δa)", "DBSP Thm 4.4", "linear: f(a + Δa) = f(a) + f(Δa)")
