"""Equivalence relations (eqrel): the rules that make a relation reflexive, symmetric and transitive."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.datalog.checks.declarations import Signatures, can_be_equivalence
from deltic.datalog.syntax.expressions import Expression, Variable, Wildcard
from deltic.datalog.syntax.formulas import BodyAtom, BodyFormula, Conjunction
from deltic.datalog.syntax.program import Clause, Declaration
from deltic.datalog.syntax.source import Span


def equivalence_rules(declarations: Sequence[Declaration], signatures: Signatures) -> list[Clause]:
    """The rules for each relation that is declared `eqrel` and has two attributes of one type."""
    return [
        rule
        for declaration in declarations
        if "eqrel" in declaration.qualifiers and can_be_equivalence(signatures[declaration.name])
        for rule in _rules(declaration.name, declaration.span)
    ]


def _rules(name: str, span: Span) -> list[Clause]:
    x, y, z = (Variable(letter, span=span) for letter in "xyz")
    any_ = Wildcard(span=span)

    def atom(*arguments: Expression) -> BodyAtom:
        return BodyAtom(name, arguments, span=span)

    def rule(head: BodyAtom, body: BodyFormula) -> Clause:
        return Clause((head,), body, span=span)

    return [
        rule(atom(x, x), atom(x, any_)),
        rule(atom(y, x), atom(x, y)),
        rule(atom(x, z), Conjunction((atom(x, y), atom(y, z)), span=span)),
    ]
