"""Ranges: `range(a, b)` has several values, so that a rule derives its head for each of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import cast, column, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.types import Column, Type
from deltic.datalog.checks.checked import Rule
from deltic.datalog.checks.kinds import NARROW
from deltic.datalog.lowering.atoms import project
from deltic.datalog.lowering.scalars import converted
from deltic.datalog.syntax.expressions import Apply, Expression, Variable, rewrite
from deltic.datalog.syntax.formulas import Aggregation, Comparison, Formula, with_expressions

_GENERATORS = {Type.INT64: "range", Type.UINT64: "range_unsigned", Type.FLOAT64: "range_float"}
_WIDE = {narrow: wide for wide, narrow in NARROW.items()}


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


def lower_range(builder: CircuitBuilder, node: int, name: str, arguments: Sequence[Expression], rule: Rule) -> int:
    """The rows of a node once for every value of the range between these arguments, in a new column."""
    type_ = rule.type_of(arguments[0])
    wide = _WIDE.get(type_, type_)
    values = [converted(argument, rule, wide) for argument in arguments]
    if wide is Type.INT64 and len(values) == 2:
        values.append(_one_either_way(*values))
    found = builder.add(ops.FlatMap(name, _GENERATORS[wide], tuple(values)), node)
    if wide is type_:
        return found
    before = builder.type_of(node).schema.columns
    narrow = cast(column(name), type_)
    return project(builder, found, (*before, Column(name, type_)), (*(column(c.name) for c in before), narrow))


def _one_either_way(start: exp.Expression, stop: exp.Expression) -> exp.Expression:
    """1 where the range goes up, else -1."""
    up = exp.If(this=exp.LTE(this=start.copy(), expression=stop.copy()), true=literal(1, Type.INT64))
    return exp.Case(ifs=[up], default=literal(-1, Type.INT64))
