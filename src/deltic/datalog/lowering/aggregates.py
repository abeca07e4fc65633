"""Aggregates: one group for each binding of the variables from outside, joined to the bindings of the rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.circuit.types import Column, Schema
from deltic.datalog.checks.bindings import known_before
from deltic.datalog.checks.checked import Rule
from deltic.datalog.checks.grounding import bound_variables
from deltic.datalog.lowering.atoms import make_set, project
from deltic.datalog.lowering.scopes import Scope
from deltic.datalog.lowering.simplify import simplify
from deltic.datalog.syntax.expressions import Expression
from deltic.datalog.syntax.formulas import Aggregation, Atom, Formula

LowerRule = Callable[[Rule, Schema, Scope], int]


def lower_aggregation(aggregation: Aggregation, rule: Rule, scope: Scope, node: int, lower_rule: LowerRule) -> int:
    """The bindings of `node` with a column for the result of an aggregate, all of whose outer variables it has.

    The relations inside it do not depend on the rule's head, so the groups are made in the whole circuit, by
    `lower_rule`. Where a binding has no group, `count` and `sum` are 0, and there is no least, greatest or mean
    value, so no binding.
    """
    groups = _Groups(aggregation, rule, scope, lower_rule)
    builder, outside = scope.builder, scope.outside.builder
    number = groups.lower(node)
    found = builder.add(ops.Join(), node, scope.bring(number))
    if aggregation.function not in ("count", "sum"):
        return found
    keys = project(outside, number, groups.keys, [column(key.name) for key in groups.keys])
    missing = builder.add(ops.Antijoin(), node, scope.bring(make_set(outside, keys)))
    result = Column(aggregation.result.name, rule.type_of(aggregation.result))
    return builder.add(ops.Plus(), found, builder.add(_zero(result, builder.type_of(missing).schema), missing))


def _zero(result: Column, bindings: Schema) -> ops.Operator:
    """Gives a result of 0 to bindings; of those that have one already, from an atom, it keeps those with 0."""
    nothing = literal(0, result.type)
    if result.name in bindings.names:
        return ops.Filter(exp.EQ(this=column(result.name), expression=nothing))
    return ops.Map((*bindings.columns, result), (*map(column, bindings.names), nothing))


@dataclass
class _Groups:
    """The groups of an aggregate, by the variables that are bound outside of it."""

    aggregation: Aggregation
    rule: Rule
    scope: Scope
    lower_rule: LowerRule

    def __post_init__(self) -> None:
        self.free = tuple(self.aggregation.free().values())
        self.keys = [Column(variable.name, self.rule.type_of(variable)) for variable in self.free]

    def lower(self, node: int) -> int:
        """A node of the whole circuit: the keys and the result of each group, for the bindings of `node` at least."""
        body, name, target = self.aggregation.body, self.aggregation.result.name, self.aggregation.target
        if not self.aggregation.free().keys() <= bound_variables(body):
            body = (self._bindings(node), *body)
        values = [Column(name, self.rule.type_of(target))] if target else []
        rows = self._derive((*self.free, *([target] if target else [])), body, [*self.keys, *values])
        call = ops.AggregateCall(self.aggregation.function, name if target else "", name)
        return self.scope.outside.builder.add(ops.Aggregate(tuple(key.name for key in self.keys), (call,)), rows)

    def _derive(self, arguments: Sequence[Expression], body: Sequence[Formula], columns: Sequence[Column]) -> int:
        """A node of the whole circuit with the values of the arguments for each binding of which the body holds."""
        outside, schema = self.scope.outside, Schema(tuple(columns))
        head = Atom("", tuple(arguments), span=self.aggregation.span)
        plain = simplify(replace(self.rule, head=head, body=tuple(body)))
        return self.lower_rule(plain, schema, outside) if plain else outside.builder.add(ops.Constant(schema, ()))

    def _bindings(self, node: int) -> Atom:
        """An atom of the values that the variables have outside, as those inside the aggregate do not bind them all.

        In a recursion these are the values that are known before it begins.
        """
        outside = self.scope.outside
        if self.scope is not outside:
            node = self._derive(self.free, known_before(self.rule.body, self.scope.members), self.keys)
        values = [column(key.name) for key in self.keys]
        number = make_set(outside.builder, project(outside.builder, node, self.keys, values))
        outside.relations[f"%{number}"] = number
        return Atom(f"%{number}", self.free, span=self.aggregation.span)
