"""Disjunctive normal form of bodies: a disjunction of conjunctions of literals."""

from __future__ import annotations

from itertools import chain, product

from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import FunctorCall, subexpressions
from deltic.datalog.syntax.formulas import expressions_of, mentions_of

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
