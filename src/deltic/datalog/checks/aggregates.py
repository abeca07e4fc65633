"""Aggregates out of the expressions of a rule: each becomes a literal, with names for its variables that no other has.

A variable of an aggregate's body is the aggregate's own unless it occurs outside, in the rule or in an aggregate
around it; those of its target are always its own. A name inside of a `min` or `max` that is used outside, but gets no
value there, is a *witness*: it has the values of the bindings with the least or greatest target.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from deltic.datalog.checks.grounding import bound_variables
from deltic.datalog.checks.normal_form import Literals, TooManyAlternativesError, alternatives
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.expressions import Expression, Unnamed, Variable, Wildcard, rewrite, variables
from deltic.datalog.syntax.formulas import (
    Aggregate,
    Aggregation,
    Atom,
    Comparison,
    Formula,
    expressions_of,
    with_expressions,
)

Change = Callable[[Expression], Expression]
Names = Mapping[str, str]


def name_aggregates(head: Atom, body: Literals, findings: Findings) -> tuple[Atom, Literals]:
    """The rule with a variable in place of each aggregate, bound by an aggregation among the literals."""
    mentioned = set(_names(head, *body))
    scope = _Scopes(set(mentioned), findings)
    found: list[Aggregation] = []
    outside = {name: name for name in mentioned}
    changed = [with_expressions(literal, scope.change(outside, found)) for literal in (head, *body)]
    assert isinstance(changed[0], Atom)
    return changed[0], scope.with_witnesses([*changed[1:], *found], frozenset())


class _Scopes:
    """Makes names for the variables of one rule's aggregates."""

    def __init__(self, taken: set[str], findings: Findings) -> None:
        self._taken, self._findings = taken, findings
        self._targets: dict[str, Names] = {}

    def fresh(self, name: str) -> str:
        """A name that the rule does not have yet."""
        found = next(n for i in itertools.count(1) if (n := f"{name}_{i}") not in self._taken)
        self._taken.add(found)
        return found

    def change(self, names: Names, found: list[Aggregation]) -> Change:
        """What gives the variables of an expression their names and takes aggregates out of it, into `found`."""

        def part(expression: Expression) -> Expression:
            if isinstance(expression, Variable):
                return replace(expression, name=names[expression.name])
            return self._take_out(expression, names, found) if isinstance(expression, Aggregate) else expression

        return lambda expression: rewrite(expression, part)

    def _take_out(self, aggregate: Aggregate, names: Names, found: list[Aggregation]) -> Variable:
        result = Variable(self.fresh(""), span=aggregate.span)
        body = self._conjunction(aggregate)
        own = {v.name for v in variables(aggregate.target)} if aggregate.target else set()
        hidden = own & names.keys()
        own |= {name for name in _names(*body) if name not in names}
        inside = {**names, **{name: self.fresh(name) for name in sorted(own)}}
        local = {inside[name] for name in own}
        self._targets[result.name] = {inside[name]: names[name] for name in sorted(hidden)}
        aggregations: list[Aggregation] = []
        change = self.change(inside, aggregations)
        target = aggregate.target and change(aggregate.target)
        changed = [self._name_wildcards(with_expressions(literal, change), local) for literal in body]
        local |= {inner.result.name for inner in aggregations}
        literals = self.with_witnesses([*changed, *aggregations], frozenset(names.values()))
        local |= set(_names(*literals)) - set(inside.values())
        found.append(Aggregation(result, aggregate.function, target, literals, frozenset(local), span=aggregate.span))
        return result

    def _conjunction(self, aggregate: Aggregate) -> Literals:
        """The literals of an aggregate's body; one with alternatives is reported."""
        try:
            found = alternatives(aggregate.body)
        except TooManyAlternativesError:
            found = []
        if len(found) == 1:
            return found[0]
        message = "the body of an aggregate cannot have alternatives (`;`, or `!` of several conditions)"
        self._findings.append(aggregate.body.span.error(message, "make a relation of it, and aggregate over that"))
        return ()

    def _name_wildcards(self, literal: Formula, local: set[str]) -> Formula:
        """An atom with names for its wildcards, as each value of them is a binding of its own."""
        if not isinstance(literal, Atom):
            return literal

        def name(argument: Expression) -> Expression:
            if not isinstance(argument, Wildcard):
                return argument
            local.add(named := self.fresh(""))
            return Unnamed(named, span=argument.span)

        return with_expressions(literal, name)

    def with_witnesses(self, body: Sequence[Formula], given: frozenset[str]) -> Literals:
        """The literals, each `min` and `max` that has witnesses with a copy of its body that binds them.

        In the copy the target equals the result. `given` are variables that are bound elsewhere.
        """
        literals = list(body)
        for literal in body:
            if isinstance(literal, Aggregation) and literal.function in ("min", "max") and literal.target:
                bound = bound_variables(literals, given)
                targets = self._targets[literal.result.name]
                in_target = {inside: name for inside, name in targets.items() if name not in bound}
                witnesses = literal.free().keys() - bound
                if (witnesses or in_target) and witnesses <= bound_variables(literal.body, bound):
                    position = literals.index(literal)
                    literals[position : position + 1] = self._witnessed(literal, witnesses, in_target)
        return tuple(literals)

    def _witnessed(self, aggregation: Aggregation, witnesses: Iterable[str], in_target: Names) -> list[Formula]:
        """The aggregation with names of its own for the witnesses, and a copy of its body with the names outside."""
        renamed = {name: self.fresh(name) for name in sorted(witnesses)}
        inside = with_expressions(aggregation, _renaming(renamed))
        assert aggregation.target
        own = {name: self.fresh(name) for name in sorted(aggregation.local - in_target.keys())}
        outside = _renaming({**own, **in_target})
        reached = Comparison("=", outside(aggregation.target), aggregation.result, span=aggregation.span)
        copies = [with_expressions(literal, outside) for literal in aggregation.body]
        return [replace(inside, local=inside.local | set(renamed.values())), *copies, reached]


def _renaming(names: Names) -> Change:
    def rename(part: Expression) -> Expression:
        return replace(part, name=names.get(part.name, part.name)) if isinstance(part, Variable) else part

    return lambda expression: rewrite(expression, rename)


def _names(*literals: Formula) -> list[str]:
    """The variables of literals outside of aggregates."""
    plain = (literal for literal in literals if not isinstance(literal, Aggregation))
    return [v.name for literal in plain for e in expressions_of(literal) for v in variables(e)]
