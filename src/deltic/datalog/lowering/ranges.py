"""Ranges: `range(a, b)` has several values, so a rule derives its head for each of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import cast, column, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.checks.type_names import NARROW
from deltic.datalog.lowering.atoms import project
from deltic.datalog.lowering.scalars import converted
from deltic.datalog.syntax.expressions import Expression, FunctorCall, Variable, rewrite
from deltic.datalog.syntax.formulas import Aggregation, BodyComparison, BodyFormula, with_expressions
from deltic.values.types import Column, Type

_GENERATORS = {Type.INT64: "range", Type.UINT64: "range_unsigned", Type.FLOAT64: "range_float"}
_WIDE = {narrow: wide for wide, narrow in NARROW.items()}


def is_range(expression: Expression) -> bool:
    """Return whether the expression is a range."""
    return isinstance(expression, FunctorCall) and expression.functor == "range"


class NamedExpressions:
    """Expressions of a rule that get a variable, `_r1` and so on after a prefix, and an equation each."""

    def __init__(self, rule: CheckedRule, prefix: str, is_named: Callable[[Expression], bool]) -> None:
        self._rule, self._is_named = rule, is_named
        self._names = (name for number in itertools.count(1) if (name := f"{prefix}{number}") not in rule.variables)
        self.types = dict(rule.variables)
        self.equations: list[BodyFormula] = []

    def variable(self, part: Expression) -> Expression:
        """Return the variable of an expression that gets one; others as they are."""
        if not self._is_named(part):
            return part
        variable = Variable(next(self._names), span=part.span)
        self.types[variable.name] = self._rule.type_of(part)
        self.equations.append(BodyComparison("=", variable, part, span=part.span))
        return variable


def name_ranges(rule: CheckedRule) -> CheckedRule:
    """Return the rule with a variable and an equation for each range, except in aggregates."""
    named = NamedExpressions(rule, "_r", is_range)

    def change(expression: Expression) -> Expression:
        return rewrite(expression, named.variable)

    head = with_expressions(rule.head, change)
    body = [part if isinstance(part, Aggregation) else with_expressions(part, change) for part in rule.body]
    return replace(rule, head=head, body=(*body, *named.equations), variables=named.types) if named.equations else rule


def lower_range(
    builder: CircuitBuilder, node: int, name: str, arguments: Sequence[Expression], rule: CheckedRule
) -> int:
    """Return the rows of a node once for every value of the range between these arguments, in a new column."""
    type_ = rule.type_of(arguments[0])
    wide = _WIDE.get(type_, type_)
    values = [converted(argument, rule, wide) for argument in arguments]
    if wide is Type.INT64:
        values = _bounds(*values)
    result = builder.add(ops.FlatMap(name, _GENERATORS[wide], tuple(values)), node)
    if wide is type_:
        return result
    before = builder.type_of(node).schema.columns
    narrow = cast(column(name), type_)
    return project(builder, result, (*before, Column(name, type_)), (*(column(c.name) for c in before), narrow))


def _bounds(start: exp.Expression, stop: exp.Expression, step: exp.Expression | None = None) -> list[exp.Expression]:
    """Bounds with a nonzero step: a default of ±1; for a step of zero, bounds of the range of start alone."""
    if step is None:
        return [start, stop, _one_either_way(start, stop)]
    if isinstance(step, exp.Literal | exp.Neg):
        return [start, stop, step] if step.name != "0" else [start, _next_unless(start, stop), literal(1, Type.INT64)]
    is_zero = exp.EQ(this=step.copy(), expression=literal(0, Type.INT64))
    end = _chosen(is_zero, _next_unless(start, stop), stop)
    return [start, end, _chosen(is_zero, literal(1, Type.INT64), step)]


def _next_unless(start: exp.Expression, stop: exp.Expression) -> exp.Expression:
    """start + 1, or `stop` if both are equal."""
    behind = exp.Add(this=start.copy(), expression=literal(1, Type.INT64))
    return _chosen(exp.EQ(this=start.copy(), expression=stop.copy()), stop, behind)


def _chosen(condition: exp.Expression, true: exp.Expression, false: exp.Expression) -> exp.Expression:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=true.copy())], default=false.copy())


def _one_either_way(start: exp.Expression, stop: exp.Expression) -> exp.Expression:
    """1 if the range ascends, else -1."""
    is_up = exp.LTE(this=start, expression=stop)
    return _chosen(is_up, literal(1, Type.INT64), literal(-1, Type.INT64))
