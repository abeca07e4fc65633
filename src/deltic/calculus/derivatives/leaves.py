"""Operators without inputs."""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.derivatives.table import Views, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


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
