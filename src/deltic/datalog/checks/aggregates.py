"""Takes aggregates out of the expressions of a rule: each becomes a literal, with fresh names for its own variables.

A variable of an aggregate's body is local unless it occurs outside, in the rule or in an aggregate
around it; variables of its targets are always local. A variable inside a `min` or `max` that is used outside, but not
bound there, is a *witness*: it has the values of the bindings with the least or greatest target.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace

from deltic.datalog.checks.grounding import bound_variables
from deltic.datalog.checks.normal_form import Literals, reported_alternatives
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import nodes_in, renamed, rewrite, variables
from deltic.datalog.syntax.formulas import is_equation, mentions_of, with_expressions

Change = Callable[[e.Expression], e.Expression]
Names = Mapping[str, str]


def name_aggregates(head: f.BodyAtom, body: Literals, findings: Findings) -> tuple[f.BodyAtom, Literals]:
    """Return the rule with a variable in place of each aggregate, which an aggregation among the literals binds."""
    everything = {node.name for part in (head, *body) for node in nodes_in(part) if isinstance(node, e.Variable)}
    scope = _Scopes(everything, findings)
    result: list[f.Aggregation] = []
    outside = {name: name for name in _names(head, *body)}
    named = with_expressions(head, scope.change(outside, result))
    return named, scope.conjunction(body, outside, frozenset(), result)


class _Scopes:
    """Names the variables of one rule's aggregates."""

    def __init__(self, taken: set[str], findings: Findings) -> None:
        self._taken, self._findings = taken, findings
        self._targets: dict[str, Names] = {}

    def fresh(self, name: str) -> str:
        """Return a name that is unused in the rule."""
        result = next(n for i in itertools.count(1) if (n := f"{name}_{i}") not in self._taken)
        self._taken.add(result)
        return result

    def change(self, names: Names, aggregates: list[f.Aggregation]) -> Change:
        """Return a function that renames an expression's variables and moves its aggregates to `aggregates`."""

        def part(expression: e.Expression) -> e.Expression:
            if isinstance(expression, e.Variable):
                return replace(expression, name=names[expression.name])
            return (
                self._take_out(expression, names, aggregates)
                if isinstance(expression, f.AggregateExpression)
                else expression
            )

        return lambda expression: rewrite(expression, part)

    def _take_out(self, aggregate: f.AggregateExpression, names: Names, aggregates: list[f.Aggregation]) -> e.Variable:
        result = e.Variable(self.fresh(""), span=aggregate.span)
        own = {v.name for target in aggregate.targets for v in variables(target)}
        body = self._body_of(aggregate, own | names.keys())
        hidden = own & names.keys()
        own |= {name for name in _names(*body) if name not in names}
        inside = {**names, **{name: self.fresh(name) for name in sorted(own)}}
        local = {inside[name] for name in own}
        counts_rows = _counts_rows(aggregate, body)
        body = tuple(self._name_wildcards(literal, local) if counts_rows else _projected(literal) for literal in body)
        inside |= {name: name for name in local - set(inside.values())}
        self._targets[result.name] = {inside[name]: names[name] for name in sorted(hidden)}
        aggregations: list[f.Aggregation] = []
        targets = tuple(map(self.change(inside, aggregations), aggregate.targets))
        literals = self.conjunction(body, inside, frozenset(names.values()), aggregations)
        local |= set(_names(*literals)) - set(inside.values()) | {inner.result.name for inner in aggregations}
        function, entry = aggregate.function, aggregate.entry
        aggregates.append(
            f.Aggregation(result, function, targets, literals, frozenset(local), entry, span=aggregate.span)
        )
        return result

    def conjunction(
        self, body: Literals, names: Names, given: frozenset[str], aggregates: Sequence[f.Aggregation] = ()
    ) -> Literals:
        """Literals with their variables renamed, then `aggregates` and the aggregations taken out of the literals.

        `given` are the variables that are bound elsewhere.
        """
        aggregations = [*aggregates]
        literals = [self._literal(literal, names, aggregations) for literal in body]
        return self.with_witnesses([*literals, *aggregations], given)

    def _literal(self, literal: f.BodyFormula, names: Names, aggregates: list[f.Aggregation]) -> f.BodyFormula:
        """Return a literal with renamed variables and without aggregates; those in an existential stay in it."""
        if isinstance(literal, f.Negation):
            return replace(literal, part=self._literal(literal.part, names, aggregates))
        if not isinstance(literal, f.Existential):
            return self._name_any(with_expressions(literal, self.change(names, aggregates)))
        inside = {**names, **{name: name for name in literal.local}}
        given = frozenset(names.values())
        bodies = tuple(self.conjunction(body, inside, given) for body in literal.bodies)
        taken_out = [part for body in bodies for part in body]
        results = {part.result.name for part in taken_out if isinstance(part, f.Aggregation)}
        local = {*literal.local, *results, *_names(*taken_out)} - given
        return replace(literal, bodies=bodies, local=frozenset(local))

    def _name_any(self, literal: f.BodyFormula) -> f.BodyFormula:
        """`_ = x` with a fresh name for `_`, which requires that `x` has a value."""
        if not is_equation(literal) or isinstance(literal.left, e.Wildcard) is isinstance(literal.right, e.Wildcard):
            return literal

        def name(side: e.Expression) -> e.Expression:
            return e.Variable(self.fresh(""), span=side.span) if isinstance(side, e.Wildcard) else side

        return with_expressions(literal, name)

    def _body_of(self, aggregate: f.AggregateExpression, shared: Set[str]) -> Literals:
        """Return the literals of an aggregate's body; for a body with alternatives, one existential.

        A binding consists of the variables that all alternatives mention, and of those `shared` with others; variables
        that only some alternatives mention are quantified.
        """
        bodies = reported_alternatives(aggregate.body, self._findings, counted=True)
        if len(bodies) <= 1:
            return bodies[0] if bodies else ()
        mentioned = [{*_names(*body)} for body in bodies]
        some = mentioned[0].union(*mentioned) - mentioned[0].intersection(*mentioned)
        own = {name: self.fresh(name) for name in sorted(some - shared)}
        bodies = [tuple(renamed(literal, own) for literal in body) for body in bodies]
        return (f.Existential(tuple(bodies), frozenset(own.values()), span=aggregate.body.span),)

    def _name_wildcards(self, literal: f.BodyFormula, local: set[str]) -> f.BodyFormula:
        """Return an atom with its wildcards named, because each of their values is a separate binding."""
        if not isinstance(literal, f.BodyAtom):
            return literal

        def name(argument: e.Expression) -> e.Expression:
            if not isinstance(argument, e.Wildcard):
                return argument
            local.add(named := self.fresh(""))
            return e.Unnamed(named, span=argument.span)

        return with_expressions(literal, name)

    def with_witnesses(self, body: Sequence[f.BodyFormula], given: frozenset[str]) -> Literals:
        """Return the literals, where each `min` and `max` with witnesses is followed by a copy of its body that binds
        them.

        In the copy the target equals the result. `given` are variables that are bound elsewhere.
        """
        literals = self._lifted(body, given)
        for literal in tuple(literals):
            if isinstance(literal, f.Aggregation) and literal.function in ("min", "max"):
                bound = bound_variables(literals, given)
                hidden = self._targets[literal.result.name]
                in_target = {inside: name for inside, name in hidden.items() if name not in bound}
                witnesses = literal.free().keys() - bound
                if (witnesses or in_target) and witnesses <= bound_variables(literal.body, bound):
                    position = literals.index(literal)
                    literals[position : position + 1] = self._witnessed(literal, witnesses, in_target)
        return tuple(literals)

    def _lifted(self, body: Sequence[f.BodyFormula], given: frozenset[str]) -> list[f.BodyFormula]:
        """Return the literals, with an inner aggregate moved out of an aggregate if its witnesses are used outside.

        The inner aggregate must not depend on local variables of the outer one.
        """
        bound = bound_variables(body, given)
        return [result for literal in body for result in self._parted(literal, bound)]

    def _parted(self, literal: f.BodyFormula, bound: Set[str]) -> list[f.BodyFormula]:
        """Return the literal without such inner aggregates, after these."""
        if not isinstance(literal, f.Aggregation):
            return [literal]
        own = literal.local | (bound_variables(literal.body, bound) - bound)
        inside = [part for inner in literal.body for part in self._parted(inner, bound | own)]
        out = [part for part in inside if isinstance(part, f.Aggregation) and self._reaches_out(part, own, bound)]
        kept = tuple(part for part in inside if part not in out)
        for part in out:
            hidden = self._targets[part.result.name]
            self._targets[part.result.name] = {k: name for k, name in hidden.items() if name not in literal.local}
        local = literal.local - {part.result.name for part in out}
        return [*out, replace(literal, body=kept, local=local)]

    def _reaches_out(self, inner: f.Aggregation, around: Set[str], bound: Set[str]) -> bool:
        """Return whether a witness of an inner aggregate is bound neither outside nor in the aggregate around it."""
        if inner.function not in ("min", "max") or inner.free().keys() & around:
            return False
        of_target = {*self._targets[inner.result.name].values()} - around
        return not (inner.free().keys() | of_target) <= bound

    def _witnessed(self, aggregation: f.Aggregation, witnesses: Iterable[str], in_target: Names) -> list[f.BodyFormula]:
        """Return the aggregation with fresh names for the witnesses, and a copy of its body with their outer names."""
        fresh = {name: self.fresh(name) for name in sorted(witnesses)}
        inside = renamed(aggregation, fresh)
        (target,) = aggregation.targets
        outside = {name: self.fresh(name) for name in sorted(aggregation.local - in_target.keys())} | {**in_target}
        reached = f.BodyComparison("=", renamed(target, outside), aggregation.result, span=aggregation.span)
        copies = [renamed(literal, outside) for literal in aggregation.body]
        return [replace(inside, local=inside.local | set(fresh.values())), *copies, reached]


def _counts_rows(aggregate: f.AggregateExpression, body: Literals) -> bool:
    """Return whether each row of the body's atom is a separate binding, also if rows differ only in wildcards.

    As in Soufflé, this holds for one atom without repeated variables, and without an aggregate or `range` inside.
    Otherwise `_` only requires that a value exists.
    """
    atoms = [literal for literal in body if isinstance(literal, f.BodyAtom)]
    names = _names(*atoms)
    inside = (node for part in (*aggregate.targets, *body) for node in nodes_in(part))
    several = any(
        isinstance(node, f.AggregateExpression) or (isinstance(node, e.FunctorCall) and node.functor == "range")
        for node in inside
    )
    return len(atoms) == 1 and len(names) == len(set(names)) and not several


def _projected(literal: f.BodyFormula) -> f.BodyFormula:
    """Return an atom with wildcards as the condition that such a row exists."""
    if isinstance(literal, f.BodyAtom) and any(isinstance(argument, e.Wildcard) for argument in literal.arguments):
        return f.Existential(((literal,),), frozenset(), span=literal.span)
    return literal


def _names(*literals: f.BodyFormula) -> list[str]:
    """Return the variables of literals outside of aggregates."""
    plain = (literal for literal in literals if not isinstance(literal, f.Aggregation))
    return [v.name for literal in plain for v in mentions_of(literal)]
