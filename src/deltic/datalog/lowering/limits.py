"""`.limitsize r(n=100)`: a recursion stops once r has that many rows at the end of an iteration.

All relations of the recursion then stay unchanged: Rᵢ₊₁ = Rᵢ ∪ T(Rᵢ, E) while r has fewer rows in Rᵢ, and
else Rᵢ. The result depends only on the iterations, not on the order of evaluation or of changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.datalog.lowering.atoms import make_set, project
from deltic.datalog.lowering.scopes import LoweringScope
from deltic.values.types import Type

_SIZE = "size"


def lower_limit(name: str, limit: int, scope: LoweringScope) -> int:
    """A relation without columns that has a row once a relation of the recursion has at least `limit` rows."""
    builder = scope.builder
    count = ops.Aggregate((), (ops.AggregateCall("count", "", _SIZE),))
    enough = exp.GTE(this=column(_SIZE), expression=literal(limit, Type.INT64))
    result = builder.add(ops.Filter(enough), builder.add(count, scope.relation(name)))
    return make_set(builder, project(builder, result, (), ()))


def limited(name: str, node: int, limits: Sequence[int], scope: LoweringScope) -> int:
    """The previous rows of a relation, and those of the node unless a limit is reached."""
    builder = scope.builder
    for limit in limits:
        node = builder.add(ops.Antijoin(), node, limit)
    return make_set(builder, builder.add(ops.Plus(), scope.relation(name), node)) if limits else node
