"""Aggregates: one group for each binding of the outer variables, joined to the bindings of the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.own import UserAggregate
from deltic.circuit.expressions import cast, column, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.lowering.atoms import make_set, project
from deltic.datalog.lowering.inner import InnerBody, LowerRule
from deltic.datalog.lowering.scopes import LoweringScope
from deltic.datalog.syntax.formulas import Aggregation
from deltic.values.types import Column, Schema, Type


def lower_aggregation(
    aggregation: Aggregation, rule: CheckedRule, scope: LoweringScope, node: int, lower_rule: LowerRule
) -> int:
    """The bindings of `node`, which has all outer variables, with a column for the result of an aggregate.

    For a binding without a group `count` and `sum` are 0; `min`, `max` and `mean` have no value, so the binding is
    dropped.
    """
    inner, builder = InnerBody(aggregation, rule, scope, lower_rule), scope.builder
    number = _groups(inner, aggregation, node)
    joined = builder.add(ops.Join(), node, scope.bring(number, inner.place))
    if aggregation.function not in ("count", "sum"):
        return joined
    keys = project(inner.place.builder, number, inner.keys, [column(key.name) for key in inner.keys])
    missing = builder.add(ops.Antijoin(), node, scope.bring(make_set(inner.place.builder, keys), inner.place))
    result = Column(aggregation.result.name, rule.type_of(aggregation.result))
    return builder.add(ops.Plus(), joined, builder.add(_zero(result, builder.type_of(missing).schema), missing))


def _groups(inner: InnerBody, aggregation: Aggregation, node: int) -> int:
    """The keys and the result of each group, at least for the bindings of `node`."""
    name, targets = aggregation.result.name, aggregation.targets
    wanted = _taken(aggregation, inner.rule)
    values = [Column(f"{name}{'.' * i}", type_) for i, type_ in enumerate(wanted)]
    rows = inner.derive((*inner.free, *targets), (*inner.guard(node), *aggregation.body), [*inner.keys, *values])
    first, *others = (column.name for column in values) if values else ("",)
    call = ops.AggregateCall(aggregation.entry or aggregation.function, first, name, tuple(others))
    builder = inner.place.builder
    result = builder.add(ops.Aggregate(tuple(key.name for key in inner.keys), (call,)), rows)
    columns = builder.type_of(result).schema.columns
    result = _defined(builder, result, columns) if columns[-1].nullable else result
    type_ = inner.rule.type_of(aggregation.result)
    if columns[-1].type is type_:
        return result
    values_of = (*(column(key.name) for key in columns[:-1]), cast(column(name), type_))
    return project(builder, result, (*columns[:-1], Column(name, type_)), values_of)


def _taken(aggregation: Aggregation, rule: CheckedRule) -> list[Type]:
    """The types of an aggregate's targets; Python aggregates take 64-bit numbers for any word size."""
    if aggregation.entry:
        own = ACCUMULATORS[aggregation.entry]
        assert isinstance(own, UserAggregate)
        return [column.type for column in own.of]
    return [rule.type_of(target) for target in aggregation.targets]


def _defined(builder: CircuitBuilder, number: int, columns: Sequence[Column]) -> int:
    """The groups whose result, in the last column, is not NULL."""
    is_null = exp.Is(this=column(columns[-1].name), expression=exp.Null())
    there = builder.add(ops.Filter(exp.Not(this=is_null)), number)
    plain = (*columns[:-1], replace(columns[-1], nullable=False))
    return builder.add(ops.Map(plain, tuple(column(c.name) for c in plain), partial=True), there)


def _zero(result: Column, bindings: Schema) -> ops.Operator:
    """Adds a result of 0 to bindings; if an atom has bound the result already, it keeps bindings with 0."""
    nothing = literal(0, result.type)
    if result.name in bindings.names:
        return ops.Filter(exp.EQ(this=column(result.name), expression=nothing))
    return ops.Map((*bindings.columns, result), (*map(column, bindings.names), nothing))
