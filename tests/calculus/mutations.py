"""Derivatives that are wrong on purpose: each is a mistake that a reader of the table could make.

The tests of the calculus and of the engines must reject every one of them; a test that cannot fail shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from deltic.calculus import DERIVATIVES, Derivative
from deltic.calculus.derivatives import NodeViews, Rule
from deltic.calculus.derivatives.join import Pair, added, flat, joined
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@dataclass(frozen=True)
class Mutation:
    """A wrong rule for an operator and the name of the mistake."""

    operator: type[ops.Operator]
    name: str
    rule: Rule

    def row(self) -> Derivative:
        return replace(DERIVATIVES[self.operator], rule=self.rule)


def _terms(op: ops.Join, node: Node, views: NodeViews, before: str, after: str) -> list[int]:
    """The delta queries of a join with the inputs on either side of the change in the views of these names."""
    return [
        views.builder.add(
            op,
            *(getattr(views, before)(n) for n in node.inputs[:i]),
            views.delta(changed),
            *(getattr(views, after)(n) for n in node.inputs[i + 1 :]),
        )
        for i, changed in enumerate(node.inputs)
    ]


def join_all_old(op: ops.Join, node: Node, views: NodeViews) -> int:
    return views.builder.add(ops.Plus(), *_terms(op, node, views, "old", "old"))


def join_all_new(op: ops.Join, node: Node, views: NodeViews) -> int:
    return views.builder.add(ops.Plus(), *_terms(op, node, views, "new", "new"))


def join_without_last_term(op: ops.Join, node: Node, views: NodeViews) -> int:
    terms = _terms(op, node, views, "new", "old")
    return views.builder.add(ops.Plus(), *(terms[:-1] or terms))


def join_last_term_negated(op: ops.Join, node: Node, views: NodeViews) -> int:
    *terms, last = _terms(op, node, views, "new", "old")
    return views.builder.add(ops.Plus(), *terms, views.builder.add(ops.Negate(), last))


def _antijoin(op: ops.Antijoin, node: Node, views: NodeViews, right: str, left: str, sign: int) -> int:
    builder = views.builder
    kept = builder.add(op, views.delta(node.inputs[0]), getattr(views, right)(node.inputs[1]))
    lost = builder.add(ops.Join(), getattr(views, left)(node.inputs[0]), views.delta(node.inputs[1]))
    return builder.add(ops.Plus(), kept, builder.add(ops.Negate(), lost) if sign < 0 else lost)


def antijoin_both_old(op: ops.Antijoin, node: Node, views: NodeViews) -> int:
    return _antijoin(op, node, views, "old", "old", -1)


def antijoin_both_new(op: ops.Antijoin, node: Node, views: NodeViews) -> int:
    return _antijoin(op, node, views, "new", "new", -1)


def antijoin_sign_swapped(op: ops.Antijoin, node: Node, views: NodeViews) -> int:
    return _antijoin(op, node, views, "new", "old", 1)


def antijoin_right_ignored(op: ops.Antijoin, node: Node, views: NodeViews) -> int:
    return views.builder.add(op, views.delta(node.inputs[0]), views.new(node.inputs[1]))


def distinct_of_new(op: ops.Distinct, node: Node, views: NodeViews) -> int:
    (source,) = node.inputs
    return views.builder.add(ops.DistinctDelta(), views.new(source), views.delta(source))


def distinct_forgotten(op: ops.Distinct, node: Node, views: NodeViews) -> int:
    return views.delta(node.inputs[0])


def aggregate_of_new(op: ops.Aggregate, node: Node, views: NodeViews) -> int:
    (source,) = node.inputs
    changed = ops.AggregateDelta(op.keys, op.calls)
    return views.builder.add(changed, views.new(source), views.delta(source))


def aggregate_of_the_change(op: ops.Aggregate, node: Node, views: NodeViews) -> int:
    return views.builder.add(op, views.delta(node.inputs[0]))


def constant_in_every_epoch(op: ops.Constant, node: Node, views: NodeViews) -> int:
    return views.builder.add(op)


def negate_forgotten(op: ops.Negate, node: Node, views: NodeViews) -> int:
    return views.delta(node.inputs[0])


def filter_forgotten(op: ops.Filter, node: Node, views: NodeViews) -> int:
    return views.delta(node.inputs[0])


MUTATIONS = tuple(
    Mutation(operator, rule.__name__, rule)
    for operator, rules in {
        ops.Join: (join_all_old, join_all_new, join_without_last_term, join_last_term_negated),
        ops.Antijoin: (antijoin_both_old, antijoin_both_new, antijoin_sign_swapped, antijoin_right_ignored),
        ops.Distinct: (distinct_of_new, distinct_forgotten),
        ops.Aggregate: (aggregate_of_new, aggregate_of_the_change),
        ops.Constant: (constant_in_every_epoch,),
        ops.Negate: (negate_forgotten,),
        ops.Filter: (filter_forgotten,),
    }.items()
    for rule in rules
)


def _pairs(node: Node, views: NodeViews) -> list[Pair]:
    return [(views.old(n), views.delta(n)) for n in node.inputs]


def second_antijoin_of_the_old_set(op: ops.AntijoinDelta, node: Node, views: NodeViews) -> int:
    left, changed, right, right_changed = _pairs(node, views)
    kept = views.builder.add(op, *flat([changed, right]))
    return views.builder.add(ops.Plus(), kept, views.builder.add(ops.Negate(), joined(views, [left, right_changed])))


def second_antijoin_lost_of_the_new_rows(op: ops.AntijoinDelta, node: Node, views: NodeViews) -> int:
    left, changed, right, right_changed = _pairs(node, views)
    kept = views.builder.add(op, *flat([changed, added(views, right, right_changed)]))
    lost = joined(views, [added(views, left, changed), right_changed])
    return views.builder.add(ops.Plus(), kept, views.builder.add(ops.Negate(), lost))


def second_antijoin_sign_swapped(op: ops.AntijoinDelta, node: Node, views: NodeViews) -> int:
    left, changed, right, right_changed = _pairs(node, views)
    kept = views.builder.add(op, *flat([changed, added(views, right, right_changed)]))
    return views.builder.add(ops.Plus(), kept, joined(views, [left, right_changed]))


def second_antijoin_lost_ignored(op: ops.AntijoinDelta, node: Node, views: NodeViews) -> int:
    _, changed, right, right_changed = _pairs(node, views)
    return views.builder.add(op, *flat([changed, added(views, right, right_changed)]))


SECOND = tuple(
    Mutation(ops.AntijoinDelta, rule.__name__, rule)
    for rule in (
        second_antijoin_of_the_old_set,
        second_antijoin_lost_of_the_new_rows,
        second_antijoin_sign_swapped,
        second_antijoin_lost_ignored,
    )
)
"""Mistakes in the change of a change, which recursions and streams of streams alone have."""
