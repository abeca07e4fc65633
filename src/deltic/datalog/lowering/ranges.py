"""Ranges: `range(a, b)` has several values, so that a rule derives its head for each of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import literal
from deltic.circuit.types import Type
from deltic.datalog.checks.checked import Rule
from deltic.datalog.syntax.expressions import Apply, Expression, Variable, rewrite
from deltic.datalog.syntax.formulas import Aggregation, Comparison, Formula, with_expressions

_GENERATORS = {Type.INT64: "range", Type.UINT64: "range_unsigned", Type.FLOAT64: "range_float"}


def is_range(expression: Expression) -> bool:
    """Whether the expression has the values of a range."""
    return isinstance(expression, Apply) and expression.functor == "range"


def name_ranges(rule: Rule) -> Rule:
    """The rule with a variable in the place of each range, and an equation for it; those in aggregates stay."""
    types = dict(rule.variables)
    names = (name for number in itertools.count(1) if (name := f"_r{number}") not in rule.variables)
    equations: list[Formula] = []

    def named(part: Expression) -> Expression:
        if not is_range(part):
            return part
        variable = Variable(next(names), span=part.span)
        types[variable.name] = rule.type_of(part)
        equations.append(Comparison("=", variable, part, span=part.span))
        return variable

    def change(expression: Expression) -> Expression:
        return rewrite(expression, named)

    head = with_expressions(rule.head, change)
    body = [part if isinstance(part, Aggregation) else with_expressions(part, change) for part in rule.body]
    return replace(rule, head=head, body=(*body, *equations), variables=types) if equations else rule


def lower_range(name: str, arguments: Sequence[exp.Expression], type_: Type) -> ops.FlatMap:
    """What gives each row once for every value of a range of this type, in a new column."""
    if type_ is Type.INT64 and len(arguments) == 2:
        arguments = (*arguments, _one_either_way(*arguments))
    return ops.FlatMap(name, _GENERATORS[type_], tuple(arguments))


def _one_either_way(start: exp.Expression, stop: exp.Expression) -> exp.Expression:
    """1 where the range goes up, else -1."""
    up = exp.If(this=exp.LTE(this=start.copy(), expression=stop.copy()), true=literal(1, Type.INT64))
    return exp.Case(ifs=[up], default=literal(-1, Type.INT64))
