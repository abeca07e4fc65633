"""Bound variables: every variable of a rule must get its values from somewhere."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.expressions import Expression, Variable, variables
from deltic.datalog.syntax.formulas import Atom, Comparison, Formula, Negation, expressions_of
from deltic.datalog.syntax.names import did_you_mean


def bound_variables(body: Sequence[Formula]) -> set[str]:
    """The variables with a value: arguments of positive atoms, and what equals an expression of bound variables."""
    atoms = [literal for literal in body if isinstance(literal, Atom)]
    bound = {argument.name for atom in atoms for argument in atom.arguments if isinstance(argument, Variable)}
    equations = [literal for literal in body if isinstance(literal, Comparison) and literal.operator == "="]
    size = -1
    while size < len(bound):
        size = len(bound)
        for equation in equations:
            bound |= _bound_by(equation.left, equation.right, bound) | _bound_by(equation.right, equation.left, bound)
    return bound


def check_bound(head: Atom, body: Sequence[Formula], alternatives: int, findings: Findings) -> None:
    """Report each variable of a rule that has no value, at its first mention."""
    bound = bound_variables(body)
    first_mentions: dict[str, Variable] = {}
    for mention in (v for literal in (head, *body) for e in expressions_of(literal) for v in variables(e)):
        first_mentions.setdefault(mention.name, mention)
    for name, mention in first_mentions.items():
        if name not in bound:
            findings.append(mention.span.error(f"`{name}` has no value", _remedy(name, body, bound, alternatives)))


def _bound_by(side: Expression, other: Expression, bound: set[str]) -> set[str]:
    if isinstance(side, Variable) and all(variable.name in bound for variable in variables(other)):
        return {side.name}
    return set()


def _remedy(name: str, body: Sequence[Formula], bound: set[str], alternatives: int) -> str:
    if not body:
        return f'a fact has no variables; if you mean the word, write "{name}"'
    if near := did_you_mean(name, bound):
        return near
    if alternatives > 1:
        return "use it in an atom of every alternative of `;`"
    negated = [e for literal in body if isinstance(literal, Negation) for e in expressions_of(literal)]
    if any(name == variable.name for e in negated for variable in variables(e)):
        return "an atom with `!` gives no values; use it in an atom without `!` too"
    return "use it in an atom of the body, or equate it with something that has a value"
