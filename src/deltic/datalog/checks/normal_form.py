"""Bodies in disjunctive normal form: an `or` of conjunctions of literals."""

from __future__ import annotations

from itertools import product

from deltic.datalog.syntax.formulas import (
    Atom,
    Comparison,
    Conjunction,
    Disjunction,
    Formula,
    Negation,
    Test,
    Truth,
)

MOST_ALTERNATIVES = 1024

_OPPOSITES = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

Literals = tuple[Formula, ...]


class TooManyAlternativesError(Exception):
    """The normal form of a body has more than `MOST_ALTERNATIVES` conjunctions."""


def alternatives(formula: Formula, negated: bool = False) -> list[Literals]:
    """The conjunctions of which one must hold for `formula` to hold (or not to hold, when `negated`).

    Literals are atoms, negated atoms, comparisons, tests, negated tests and truth values, in the order
    of the text. Raises TooManyAlternativesError.
    """
    if isinstance(formula, Negation) and isinstance(formula.part, Atom | Test) and not negated:
        return [(formula,)]
    if isinstance(formula, Negation):
        return alternatives(formula.part, not negated)
    if isinstance(formula, Conjunction | Disjunction):
        parts = [alternatives(part, negated) for part in formula.parts]
        return _both(parts) if isinstance(formula, Conjunction) is not negated else _either(parts)
    return [(_literal(formula, negated),)]


def _both(parts: list[list[Literals]]) -> list[Literals]:
    combined: list[Literals] = [()]
    for part in parts:
        if len(combined) * len(part) > MOST_ALTERNATIVES:
            raise TooManyAlternativesError
        combined = [first + second for first, second in product(combined, part)]
    return combined


def _either(parts: list[list[Literals]]) -> list[Literals]:
    return [conjunction for part in parts for conjunction in part]


def _literal(formula: Formula, negated: bool) -> Formula:
    if not negated:
        return formula
    if isinstance(formula, Comparison):
        return Comparison(_OPPOSITES[formula.operator], formula.left, formula.right, span=formula.span)
    if isinstance(formula, Truth):
        return Truth(not formula.value, span=formula.span)
    assert isinstance(formula, Atom | Test)
    return Negation(formula, span=formula.span)
