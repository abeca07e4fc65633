"""Groundedness: every variable of a rule must be bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import Expression, Variable, fields_of, variables
from deltic.datalog.syntax.formulas import bare, expressions_of, is_equation, mentions_of, with_inner
from deltic.errors import did_you_mean


def bound_variables(body: Sequence[f.BodyFormula], given: Iterable[str] = ()) -> set[str]:
    """Return the bound variables: those `given`, and arguments of positive atoms, with the fields of structures there.

    Also variables that equal an expression of bound variables, results of aggregates whose outer variables are bound,
    and variables that all bodies of an existential bind.
    """
    atoms = [literal for literal in body if isinstance(literal, f.BodyAtom)]
    bound = {name for atom in atoms for argument in atom.arguments for name in taken_apart(argument)}
    bound |= set(given)
    aggregations = [literal for literal in body if isinstance(literal, f.Aggregation)]
    existentials = [literal for literal in body if isinstance(literal, f.Existential)]
    equations = [literal for literal in body if is_equation(literal)]
    size = -1
    while size < len(bound):
        size = len(bound)
        for equation in equations:
            bound |= _bound_by(equation.left, equation.right, bound) | _bound_by(equation.right, equation.left, bound)
        bound |= {aggregation.result.name for aggregation in aggregations if aggregation.free().keys() <= bound}
        for existential in existentials:
            bound |= existential.free().keys() & bound_by_all(existential, bound)
    return bound


def bound_by_all(existential: f.Existential, given: Iterable[str]) -> set[str]:
    """Return the variables that every body of an existential binds, and those `given`."""
    return set.intersection(*(bound_variables(body, given) for body in existential.bodies))


def check_bound(head: f.BodyAtom, body: Sequence[f.BodyFormula], alternatives: int, findings: Findings) -> None:
    """Report each unbound variable of a rule at its first mention."""
    _check_scope(head.arguments, body, frozenset(), frozenset(), alternatives, findings)


def _check_scope(
    arguments: Sequence[Expression],
    body: Sequence[f.BodyFormula],
    given: Set[str],
    local: Set[str],
    alternatives: int,
    findings: Findings,
) -> None:
    """Report the unbound variables of a head's arguments, or an aggregate's target, and of a body.

    `local` are the variables that only a quantifier around the body could bind.
    A variable that depends on an unbound aggregate is reported only if that aggregate depends on it in turn.
    """
    aggregations = [literal for literal in body if isinstance(literal, f.Aggregation)]
    plain = [v for literal in body if not isinstance(literal, f.Aggregation) for v in mentions_of(literal)]
    first_mentions: dict[str, Variable] = {}
    for mention in (*(v for e in arguments for v in variables(e)), *plain):
        first_mentions.setdefault(mention.name, mention)
    results = {aggregation.result.name for aggregation in aggregations}
    bound = bound_variables(body, given | results)
    if first_mentions.keys() <= bound:
        bound = bound_variables(body, given) | results
    known = {mention.span.text for name, mention in first_mentions.items() if name in bound - results}
    for name, mention in first_mentions.items():
        if name not in bound:
            remedy = _GUARD.format(mention.span.text) if name in local else _remedy(mention, body, known, alternatives)
            finding = mention.span.error(f"`{mention.span.text}` has no value", remedy)
            if all(replace(finding, hint=other.hint) != other for other in findings):
                findings.append(finding)
    given_inside = bound | first_mentions.keys()
    for inner in aggregations:
        _check_scope(inner.targets, inner.body, given_inside, frozenset(), 1, findings)
    for existential in (part for literal in body if isinstance(part := bare(literal), f.Existential)):
        for inside in existential.bodies:
            _check_scope([], inside, given_inside, existential.local, 1, findings)


_GUARD = (
    "an atom without `!` beside it must say which values it takes: `exists {0}: (node({0}), ...)`, "
    "or for all of them `forall {0}: (node({0}) -> ...)`"
)


def _bound_by(side: Expression, other: Expression, bound: set[str]) -> set[str]:
    names = taken_apart(side)
    return names if names and all(variable.name in bound for variable in variables(other)) else set()


def taken_apart(expression: Expression) -> set[str]:
    """Return the variables that are bound if the whole value is: a variable itself, or the fields of a structure."""
    return {part.name for part in fields_of(expression) if isinstance(part, Variable)}


def _remedy(mention: Variable, body: Sequence[f.BodyFormula], known: set[str], alternatives: int) -> str:
    name = mention.span.text
    if not body:
        return f'a fact has no variables; if you mean the word, write "{name}"'
    if name in known:
        return f"`{name}` of a quantifier is another variable; use it in an atom outside of the quantifier, too"
    if near := did_you_mean(name, known):
        return near
    if alternatives > 1:
        return "use it in an atom of every alternative of `;`"
    negated = [e for literal in with_inner(body) if isinstance(literal, f.Negation) for e in expressions_of(literal)]
    aggregated = with_inner([literal for literal in body if isinstance(literal, f.Aggregation)])
    if any(name == v.span.text for literal in aggregated for e in expressions_of(literal) for v in variables(e)):
        return "an aggregate gives values to its own variables only; use it in an atom outside of the aggregate too"
    if any(mention.name == variable.name for e in negated for variable in variables(e)):
        return "an atom with `!` gives no values; use it in an atom without `!` too, or write `_` for any value"
    return "use it in an atom of the body, or equate it with something that has a value"
