"""Operators on groups of rows: only the groups of a change can have another result.

Counts and sums are linear, the set of groups is not. [DBSP §8.1.3] calls Agg_f linear where f is. That holds before the
results of groups are put into one Z-set: a changed count replaces one row by another. Nor is top-k linear, because an
inserted row displaces others.
"""

from __future__ import annotations

from dataclasses import fields

from deltic.calculus.derivatives.table import Cost, NodeViews, Rule, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


def _by(change: type[ops.Operator]) -> Rule:
    """Return the rule of an operator with one input whose change is another operator with the same fields."""

    def rule(op: ops.Operator, node: Node, views: NodeViews) -> int:
        (source,) = node.inputs
        changed = change(**{field.name: getattr(op, field.name) for field in fields(op)})
        return views.builder.add(changed, views.old(source), views.delta(source))

    return rule


derivative(
    ops.Aggregate,
    "agg(a + Δa)|k − agg(a)|k, k: the groups of Δa",
    "DBSP §8.1, Def. 4.1",
    "only groups of the change can have another result",
    "of each group what its functions need: a total, or values in order",
    Cost.LOGARITHMIC,
)(_by(ops.AggregateDelta))

derivative(
    ops.Distinct,
    "H(a, Δa)",
    "DBSP Prop. 6.12",
    "only rows of the change can enter or leave the set",
    "the weight of each row of a",
)(_by(ops.DistinctDelta))

derivative(
    ops.Over,
    "over(a + Δa)|k − over(a)|k, k: the partitions of Δa",
    "DBSP Def. 4.1",
    "only rows that see a changed one can get another value",
    "its input, in order",
    Cost.MATCHES,
)(_by(ops.OverDelta))

derivative(
    ops.Top,
    "top(a + Δa)|k − top(a)|k, k: the parts of Δa",
    "DBSP Def. 4.1",
    "only rows between the borders of before and after enter or leave",
    "its input, in order, and where the borders are",
    Cost.LOGARITHMIC,
)(_by(ops.TopDelta))
