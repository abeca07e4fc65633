"""Disjunctive normal form of bodies: a disjunction of conjunctions of literals, without records that only connect
variables in equations.

In `r = [x, y], s = r, s = [v, w]` neither `r` nor `s` is in an atom, so this means only `x = v, y = w`, and the records
need no declared type.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product
from typing import TypeGuard

from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import FunctorCall, fields_of, nodes_in, subexpressions, substituted
from deltic.datalog.syntax.formulas import (
    BodyAtom,
    BodyComparison,
    BodyFormula,
    expressions_of,
    is_equation,
    mentions_of,
)

MOST_ALTERNATIVES = 1024

_OPPOSITES = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

Literals = tuple[f.BodyFormula, ...]


class TooManyAlternativesError(Exception):
    """The normal form of a body has more than `MOST_ALTERNATIVES` conjunctions."""


def alternatives(
    formula: f.BodyFormula, negated: bool = False, counted: bool = False, inside: bool = False
) -> list[Literals]:
    """Return the conjunctions whose disjunction is equivalent to `formula` (or to its negation, if `negated`).

    Literals are atoms, negated atoms, comparisons, tests, negated tests, truth values and negated existentials, in the
    order of the text; the only quantifier of the formula is `exists`. If bindings are `counted`, `exists` becomes an
    existential; otherwise its variables become variables of the rule. In a rule, a condition on undefined values holds
    neither plainly nor under `!`; `inside` an existential its negation holds, because no row is excluded.
    Raises TooManyAlternativesError.
    """
    if isinstance(formula, f.Negation) and isinstance(formula.part, f.BodyAtom) and not negated:
        return [(formula,)]
    if isinstance(formula, f.Negation):
        return alternatives(formula.part, not negated, counted, inside)
    if isinstance(formula, f.Conjunction | f.Disjunction):
        parts = [alternatives(part, negated, counted, inside) for part in formula.parts]
        return _both(parts) if isinstance(formula, f.Conjunction) is not negated else [*chain.from_iterable(parts)]
    if isinstance(formula, f.Quantified) and not negated and not counted:
        return alternatives(formula.part, inside=inside)
    if negated and inside and _may_be_undefined(formula):
        formula = f.Existential(((formula,),), frozenset(), span=formula.span)
    return [(_literal(formula, negated),)]


def reported_alternatives(formula: f.BodyFormula, findings: Findings, counted: bool = False) -> list[Literals]:
    """Return the alternatives of a body; none, and a finding, if there are too many."""
    try:
        return alternatives(formula, counted=counted)
    except TooManyAlternativesError:
        message = f"this body has more than {MOST_ALTERNATIVES} alternatives once its `;` are multiplied out"
        findings.append(formula.span.error(message, "make relations of its parts in parentheses"))
        return []


def _may_be_undefined(condition: f.BodyFormula) -> bool:
    """Return whether a condition computes a value that may be undefined."""
    computes = (FunctorCall, f.AggregateExpression)
    return isinstance(condition, f.BodyComparison | f.Test) and any(
        isinstance(part, computes) for e in expressions_of(condition) for part in subexpressions(e)
    )


def names_in(formula: f.BodyFormula) -> frozenset[str]:
    """Return the variables that a formula mentions outside of aggregates, without those that it quantifies."""
    if isinstance(formula, f.Conjunction | f.Disjunction):
        return frozenset().union(*map(names_in, formula.parts))
    if isinstance(formula, f.Quantified):
        return names_in(formula.part) - {v.name for v in formula.variables}
    if isinstance(formula, f.Negation):
        return names_in(formula.part)
    return frozenset(v.name for v in mentions_of(formula))


def _both(parts: list[list[Literals]]) -> list[Literals]:
    combined: list[Literals] = [()]
    for part in parts:
        if len(combined) * len(part) > MOST_ALTERNATIVES:
            raise TooManyAlternativesError
        combined = [first + second for first, second in product(combined, part)]
    return combined


def _literal(formula: f.BodyFormula, negated: bool) -> f.BodyFormula:
    if isinstance(formula, f.Quantified):
        formula = _existential(formula)
    if not negated:
        return formula
    if isinstance(formula, f.BodyComparison):
        return f.BodyComparison(_OPPOSITES[formula.operator], formula.left, formula.right, span=formula.span)
    if isinstance(formula, f.Truth):
        return f.Truth(not formula.value, span=formula.span)
    assert isinstance(formula, f.BodyAtom | f.Test | f.Existential)
    return f.Negation(formula, span=formula.span)


def _existential(formula: f.Quantified) -> f.Existential:
    """Return the existential of a quantified formula; variables of `exists` in its bodies become local, too."""
    bodies = alternatives(formula.part, inside=True)
    mentioned = frozenset().union(*(names_in(literal) for body in bodies for literal in body))
    return f.Existential(tuple(bodies), mentioned - names_in(formula), span=formula.span)


_PLAIN = (e.Variable, e.Wildcard, e.NumberLiteral, e.UnsignedLiteral, e.FloatLiteral, e.StringLiteral)


def compare_fields(head: BodyAtom, body: Literals) -> Literals:
    """Return the literals with equations of records replaced by equations of fields where that is equivalent."""
    while True:
        between = next((each for each in body if _is_between_records(each)), None)
        if between is not None:
            place = body.index(between)
            body = (*body[:place], *_of_fields(between), *body[place + 1 :])
        elif result := next(_definitions(head, body), None):
            variable, record, definition = result
            body = tuple(substituted(literal, variable, record) for literal in body if literal is not definition)
        else:
            return body


def _is_record(expression: e.Expression) -> TypeGuard[e.FunctorCall]:
    """Return whether the expression is a record whose fields are variables, literals and wildcards."""
    is_record = isinstance(expression, e.FunctorCall) and expression.functor == e.RECORD
    return is_record and all(isinstance(field, _PLAIN) for field in fields_of(expression))


def _is_between_records(literal: BodyFormula) -> TypeGuard[BodyComparison]:
    if not (is_equation(literal) and _is_record(literal.left) and _is_record(literal.right)):
        return False
    return len(literal.left.arguments) == len(literal.right.arguments)


def _of_fields(equation: BodyComparison) -> Iterator[BodyComparison]:
    """Yield the equations of the fields; a wildcard equals everything."""
    assert isinstance(equation.left, e.FunctorCall)
    assert isinstance(equation.right, e.FunctorCall)
    for left, right in zip(equation.left.arguments, equation.right.arguments, strict=True):
        if not isinstance(left, e.Wildcard) and not isinstance(right, e.Wildcard):
            yield BodyComparison("=", left, right, span=equation.span)


def _definitions(head: BodyAtom, body: Literals) -> Iterator[tuple[e.Variable, e.FunctorCall, BodyComparison]]:
    """Yield the variables that equal a record and otherwise occur only as sides of equations, with the record."""
    for literal in body:
        if is_equation(literal):
            for side, record in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(side, e.Variable) and _is_record(record):
                    others = (part for part in (head, *body) if part is not literal)
                    if side not in nodes_in(record) and not any(_needs(part, side) for part in others):
                        yield side, record, literal


def _needs(literal: BodyFormula, variable: e.Variable) -> bool:
    """Return whether a variable occurs in a literal other than as a side of an equation."""
    if is_equation(literal):
        return any(variable in nodes_in(side) for side in (literal.left, literal.right) if side != variable)
    return variable in nodes_in(literal)
