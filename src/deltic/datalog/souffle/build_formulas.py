"""Builds formulas from lark's parse trees."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from deltic.datalog.souffle.build_expressions import EXPRESSIONS, build_arguments, build_expression
from deltic.datalog.souffle.context import ParseContext, Parsed, Part, tokens, trees
from deltic.datalog.syntax.expressions import Expression, Variable
from deltic.datalog.syntax.formulas import (
    AggregateExpression,
    BodyAtom,
    BodyComparison,
    BodyFormula,
    Conjunction,
    Disjunction,
    Implication,
    Negation,
    OperatorAtom,
    Quantified,
    RelationName,
    Test,
    Truth,
)
from deltic.datalog.syntax.source import Span


def build_formula(context: ParseContext, part: Part) -> BodyFormula:
    """The formula for a tree of the grammar's `disjunction`."""
    assert not isinstance(part, Token)
    return _BUILDERS[part.data](context, part, context.span(part))


def build_atom(context: ParseContext, parsed: Parsed) -> BodyAtom:
    """An atom of a head or a body."""
    relation = context.qualified(tokens(parsed)[0])
    return BodyAtom(relation, build_arguments(context, parsed), span=context.span(parsed))


def _atom(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    return build_atom(context, parsed)


def _applied(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    named = [(context.qualified(tokens(part)[0]), context.span(part)) for part in trees(parsed, "qualified")]
    inputs = tuple(RelationName(name, span=place) for name, place in named)
    return OperatorAtom(str(tokens(parsed)[0]), inputs, build_arguments(context, parsed), span=span)


def _comparison(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    left, operator, right = parsed.children
    return BodyComparison(str(operator), build_expression(context, left), build_expression(context, right), span=span)


def _test(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    return Test(str(tokens(parsed)[0]), build_arguments(context, parsed), span=span)


def _truth(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    return Truth(tokens(parsed)[0] == "true", span=span)


def _negation(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    return Negation(build_formula(context, parsed.children[0]), span=span)


def _conjunction(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    return Conjunction(tuple(build_formula(context, child) for child in parsed.children), span=span)


def _disjunction(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    return Disjunction(tuple(build_formula(context, child) for child in parsed.children), span=span)


def _implication(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    premise, conclusion = parsed.children
    return Implication(build_formula(context, premise), build_formula(context, conclusion), span=span)


def _quantified(context: ParseContext, parsed: Parsed, span: Span) -> BodyFormula:
    quantifier, *names = tokens(parsed)
    bound = tuple(Variable(context.name(name), span=context.span(name)) for name in names)
    return Quantified(str(quantifier), bound, build_formula(context, parsed.children[-1]), span=span)


def _aggregate(context: ParseContext, parsed: Parsed, span: Span) -> Expression:
    function, *targets, body = parsed.children
    values = tuple(build_expression(context, target) for target in targets)
    return AggregateExpression(str(function), values, build_formula(context, body), span=span)


EXPRESSIONS["aggregate"] = _aggregate
_BUILDERS: dict[str, Callable[[ParseContext, Parsed, Span], BodyFormula]] = {
    "atom": _atom,
    "applied": _applied,
    "comparison": _comparison,
    "test": _test,
    "truth": _truth,
    "negation": _negation,
    "conjunction": _conjunction,
    "disjunction": _disjunction,
    "implication": _implication,
    "quantified": _quantified,
}
