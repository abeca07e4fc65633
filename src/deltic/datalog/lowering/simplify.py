"""Simplifies rules before lowering: folds constants, merges equal variables, names computed arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

from deltic.circuit.expressions.meaning import evaluate
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.lowering.ranges import NamedExpressions, is_range, name_ranges
from deltic.datalog.lowering.scalars import predicate, scalar
from deltic.datalog.lowering.structures import unify_structures, unpack_structures
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import rewrite, substituted, variables
from deltic.datalog.syntax.formulas import bare, expressions_of, is_equation, with_expressions
from deltic.values.types import Type

_LITERALS: Mapping[Type, Callable[..., e.Expression]] = {
    **dict.fromkeys((Type.INT32, Type.INT64), e.NumberLiteral),
    **dict.fromkeys((Type.UINT32, Type.UINT64), e.UnsignedLiteral),
    **dict.fromkeys((Type.FLOAT32, Type.FLOAT64), e.FloatLiteral),
    Type.STRING: e.StringLiteral,
}


def simplify(rule: CheckedRule) -> CheckedRule | None:
    """Return the rule in plain form, None if its body can never hold.

    In plain form the arguments of the body's atoms are variables, literals and wildcards, the other literals contain
    variables, and there are no truth values; structures that bind their fields are replaced by equations for these. The
    same rows are derived. Bodies of aggregates are simplified when they are lowered.
    """
    rule = unify_structures(fold_constants(name_ranges(rule)))
    while equation := next(_substitutions(rule), None):
        rule = unify_structures(fold_constants(_substitute(rule, *equation)))
    if f.Truth(False, span=rule.head.span) in rule.body:
        return None
    rule = replace(rule, body=tuple(literal for literal in rule.body if not isinstance(literal, f.Truth)))
    return unpack_structures(_name_computed_arguments(rule))


def fold_constants(rule: CheckedRule) -> CheckedRule:
    """Return the rule with closed expressions and conditions replaced by their values, where these are defined."""

    def fold(part: e.Expression) -> e.Expression:
        return _value(part, rule) if isinstance(part, e.FunctorCall) else part

    def fold_all(expression: e.Expression) -> e.Expression:
        return rewrite(expression, fold)

    folded = [with_expressions(literal, fold_all) for literal in rule.body]
    body = tuple(_truth(literal, rule) for literal in folded)
    return replace(rule, head=with_expressions(rule.head, fold_all), body=body)


def _value(apply: e.FunctorCall, rule: CheckedRule) -> e.Expression:
    if (
        not all(_is_literal(argument) for argument in apply.arguments)
        or isinstance(apply, e.UserFunctorCall)
        or is_range(apply)
    ):
        return apply
    value = evaluate(scalar(apply, rule), {}, {})
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return apply
    return _LITERALS[rule.type_of(apply)](value, span=apply.span)


def _truth(literal: f.BodyFormula, rule: CheckedRule) -> f.BodyFormula:
    """Return a condition on literals alone as a truth value; false if it is undefined."""
    inner = bare(literal)
    if isinstance(inner, f.Aggregation | f.BodyAtom | f.Existential | f.Truth) or any(
        is_range(value) or any(True for _ in variables(value)) for value in expressions_of(literal)
    ):
        return literal
    return f.Truth(evaluate(predicate(literal, rule), {}, {}) is True, span=literal.span)


def _is_literal(
    expression: e.Expression,
) -> TypeGuard[e.NumberLiteral | e.UnsignedLiteral | e.FloatLiteral | e.StringLiteral]:
    return isinstance(expression, e.NumberLiteral | e.UnsignedLiteral | e.FloatLiteral | e.StringLiteral)


def _substitutions(rule: CheckedRule) -> Iterator[tuple[e.Variable, e.Expression, f.BodyFormula]]:
    """Yield the equations that make a variable redundant.

    Floats are excluded, because equal ones may differ, as 0.0 and -0.0 do. So are results of aggregates.
    """
    results = [literal.result for literal in rule.body if isinstance(literal, f.Aggregation)]
    for literal in rule.body:
        if not is_equation(literal):
            continue
        for side, other in ((literal.right, literal.left), (literal.left, literal.right)):
            plain = (isinstance(other, e.Variable) or _is_literal(other)) and not {side, other} & {*results}
            if isinstance(side, e.Variable) and plain and not rule.type_of(side).is_float:
                yield side, other, literal


def _substitute(rule: CheckedRule, variable: e.Variable, value: e.Expression, equation: f.BodyFormula) -> CheckedRule:
    """Return the rule with the variable replaced by the value, and without the equation."""
    body = tuple(substituted(literal, variable, value) for literal in rule.body if literal is not equation)
    return replace(rule, head=substituted(rule.head, variable, value), body=body)


def _name_computed_arguments(rule: CheckedRule) -> CheckedRule:
    """Return the rule with a new variable and an equation for each computed argument of the body's atoms."""
    named = NamedExpressions(rule, "_", lambda argument: isinstance(argument, e.FunctorCall))
    body = [
        with_expressions(part, named.variable) if isinstance(bare(part), f.BodyAtom) else part for part in rule.body
    ]
    return replace(rule, body=(*body, *named.equations), variables=named.types)
