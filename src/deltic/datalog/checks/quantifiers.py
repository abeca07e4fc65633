"""Rewrites `->` and `forall` to `!` and `exists`, and gives each quantified variable a unique name.

A negated formula in parentheses quantifies its own variables: `!(child(x, y), !tree(y))` is
`!exists y: (child(x, y), !tree(y))`. A variable belongs to a negation if it occurs outside only in other
alternatives of a `;` and other such negations, and each alternative inside that mentions it binds it; it belongs to the
smallest such negation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from deltic.datalog.checks.grounding import bound_variables
from deltic.datalog.checks.normal_form import TooManyAlternativesError, alternatives, names_in
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import (
    nodes_in,
    parts_of,
    renamed,
    rewrite,
    subexpressions,
    transform,
    variables,
    with_parts,
)
from deltic.datalog.syntax.formulas import with_expressions
from deltic.datalog.syntax.program import Clause

Names: TypeAlias = frozenset[str]


def resolve_quantifiers(clause: Clause, findings: Findings) -> Clause:
    """Return the clause with `exists` as its only quantifier; unused quantified variables are reported."""
    values = (part for head in clause.heads for value in head.arguments for part in subexpressions(value))
    if clause.body is None and not any(isinstance(part, f.AggregateExpression) for part in values):
        return clause
    heads = tuple(transform(head, _plain) for head in clause.heads)
    outside = frozenset(v.name for head in heads for value in head.arguments for v in variables(value))
    body = clause.body and transform(clause.body, _plain)
    around = outside | (names_in(body) if body else frozenset())
    scoped = replace(
        clause,
        heads=tuple(with_expressions(head, lambda value: _in_aggregates(value, around)) for head in heads),
        body=body and _scoped(body, outside),
    )
    return _Apart(scoped, findings).renamed(scoped)


def _plain(node: e.SyntaxNode) -> e.SyntaxNode:
    """`->` and `forall` rewritten to `!`, `;` and `exists`."""
    if isinstance(node, f.Implication):
        return f.Disjunction((f.Negation(node.premise, span=node.premise.span), node.conclusion), span=node.span)
    if isinstance(node, f.Quantified) and node.quantifier == "forall":
        exception = f.Negation(node.part, span=node.part.span)
        return f.Negation(replace(node, quantifier="exists", part=exception), span=node.span)
    return node


def _scoped(formula: f.BodyFormula, outside: Names) -> f.BodyFormula:
    """Return the formula with an `exists` for each negation's own variables; `outside` are those around it."""
    if isinstance(formula, f.Conjunction):
        names = [frozenset() if _may_own(part) else names_in(part) for part in formula.parts]
        others = [outside.union(*names[:i], *names[i + 1 :]) for i in range(len(names))]
        return replace(formula, parts=tuple(map(_scoped, formula.parts, others)))
    if isinstance(formula, f.Disjunction):
        return replace(formula, parts=tuple(_scoped(part, outside) for part in formula.parts))
    if isinstance(formula, f.Quantified):
        return replace(formula, part=_scoped(formula.part, outside.union(v.name for v in formula.variables)))
    if isinstance(formula, f.Negation):
        return replace(formula, part=_with_own(_scoped(formula.part, outside), outside))
    around = outside | names_in(formula)
    return with_expressions(formula, lambda expression: _in_aggregates(expression, around))


def _may_own(formula: f.BodyFormula) -> bool:
    """Return whether it is a negation of several conditions."""
    return isinstance(formula, f.Negation) and isinstance(formula.part, f.Conjunction | f.Disjunction)


def _in_aggregates(expression: e.Expression, around: Names) -> e.Expression:
    def inside(part: e.Expression) -> e.Expression:
        if not isinstance(part, f.AggregateExpression):
            return part
        targets = tuple(_in_aggregates(target, around) for target in part.targets)
        own = (v.name for target in targets for v in variables(target))
        return replace(part, targets=targets, body=_scoped(part.body, around.union(own)))

    return rewrite(expression, inside)


def _with_own(part: f.BodyFormula, outside: Names) -> f.BodyFormula:
    """Return a negated formula with an `exists` for the variables that only it mentions and binds."""
    mentioned = names_in(part)
    if not isinstance(part, f.Conjunction | f.Disjunction) or mentioned <= outside:
        return part
    try:
        bodies = alternatives(part)
    except TooManyAlternativesError:
        return part
    ungiven = {
        name for body in bodies for name in frozenset().union(*map(names_in, body)) - bound_variables(body, outside)
    }
    own = mentioned - outside - ungiven
    first = {v.name: v for v in reversed([n for n in nodes_in(part) if isinstance(n, e.Variable)]) if v.name in own}
    quantified = tuple(reversed(first.values()))
    return f.Quantified("exists", quantified, part, span=part.span) if quantified else part


class _Apart:
    """Renames the quantified variables of one clause that share their name with another variable."""

    def __init__(self, clause: Clause, findings: Findings) -> None:
        self._findings = findings
        self._all = {node.name for node in nodes_in(clause) if isinstance(node, e.Variable)}
        self._taken = set(_free(clause, frozenset()))

    def renamed(self, node: e.NodeT) -> e.NodeT:
        """Return the node with clashing quantified variables renamed, the outermost first."""
        made = self._quantified(node) if isinstance(node, f.Quantified) else node
        return with_parts(made, self.renamed)  # type: ignore[return-value]

    def _quantified(self, node: f.Quantified) -> f.Quantified:
        mentioned = names_in(node.part)
        for variable in node.variables:
            if variable.name not in mentioned:
                message = f"no atom of this formula says which values `{variable.name}` takes"
                self._findings.append(variable.span.error(message, "use it in an atom of the formula, or remove it"))
        clashes = {v.name: self._fresh(v.name) for v in node.variables if v.name in self._taken}
        self._taken.update(v.name for v in node.variables)
        return renamed(node, clashes) if clashes else node

    def _fresh(self, name: str) -> str:
        result = next(n for i in itertools.count(1) if (n := f"{name}_{i}") not in self._all)
        self._all.add(result)
        self._taken.add(result)
        return result


def _free(node: e.SyntaxNode, bound: Names) -> Iterator[str]:
    """Yield the free variables, including those of aggregates."""
    if isinstance(node, e.Variable) and node.name not in bound:
        yield node.name
    if isinstance(node, f.Quantified):
        yield from _free(node.part, bound.union(v.name for v in node.variables))
    else:
        for part in parts_of(node):
            yield from _free(part, bound)
