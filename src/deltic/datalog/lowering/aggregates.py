"""Aggregates: one group for each binding of the variables from outside, joined to the bindings of the rule."""

from __future__ import annotations

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.circuit.types import Column, Schema
from deltic.datalog.checks.checked import Rule
from deltic.datalog.lowering.atoms import make_set, project
from deltic.datalog.lowering.inner import Inner, LowerRule
from deltic.datalog.lowering.scopes import Scope
from deltic.datalog.syntax.formulas import Aggregation


def lower_aggregation(aggregation: Aggregation, rule: Rule, scope: Scope, node: int, lower_rule: LowerRule) -> int:
    """The bindings of `node` with a column for the result of an aggregate, all of whose outer variables it has.

    Where a binding has no group, `count` and `sum` are 0, and there is no least, greatest or mean
    value, so no binding.
    """
    inner, builder = Inner(aggregation, rule, scope, lower_rule), scope.builder
    number = _groups(inner, aggregation, node)
    found = builder.add(ops.Join(), node, scope.bring(number, inner.place))
    if aggregation.function not in ("count", "sum"):
        return found
    keys = project(inner.place.builder, number, inner.keys, [column(key.name) for key in inner.keys])
    missing = builder.add(ops.Antijoin(), node, scope.bring(make_set(inner.place.builder, keys), inner.place))
    result = Column(aggregation.result.name, rule.type_of(aggregation.result))
    return builder.add(ops.Plus(), found, builder.add(_zero(result, builder.type_of(missing).schema), missing))


def _groups(inner: Inner, aggregation: Aggregation, node: int) -> int:
    """The keys and the result of each group, for the bindings of `node` at least."""
    name, target = aggregation.result.name, aggregation.target
    values = [Column(name, inner.rule.type_of(target))] if target else []
    arguments = (*inner.free, *([target] if target else []))
    rows = inner.derive(arguments, (*inner.guard(node), *aggregation.body), [*inner.keys, *values])
    call = ops.AggregateCall(aggregation.function, name if target else "", name)
    return inner.place.builder.add(ops.Aggregate(tuple(key.name for key in inner.keys), (call,)), rows)


def _zero(result: Column, bindings: Schema) -> ops.Operator:
    """Gives a result of 0 to bindings; of those that have one already, from an atom, it keeps those with 0."""
    nothing = literal(0, result.type)
    if result.name in bindings.names:
        return ops.Filter(exp.EQ(this=column(result.name), expression=nothing))
    return ops.Map((*bindings.columns, result), (*map(column, bindings.names), nothing))
