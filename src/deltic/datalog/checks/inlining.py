"""Inlining: atoms of inlined relations are replaced by the bodies of their rules, and the relations are not computed.

An atom becomes the disjunction of the rules' bodies, with its arguments for the head's. This happens before
the check for unbound variables, so that `lt(a, b) :- a < b.` may be inlined although its rows cannot be enumerated.
Under `!` and in aggregates, variables that only the body has are existentially quantified: `!` excludes all of their
values, and an aggregate does not count them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from deltic.catalog.components import components
from deltic.datalog.checks.normal_form import names_in
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import is_structure, nodes_in, rewrite, transform, variables
from deltic.datalog.syntax.formulas import with_expressions
from deltic.datalog.syntax.program import Clause, Declaration


class _Around(Enum):
    """The nearest context of an atom: in rules and aggregates `_` is another variable, under `!` it is quantified."""

    RULE = 0
    AGGREGATE = 1
    QUANTIFIER = 2


def inline_relations(clauses: Sequence[Clause], inlined: Mapping[str, Declaration], findings: Findings) -> list[Clause]:
    """Return the clauses of all other relations, with inlined relations expanded.

    Relations that cannot be inlined are reported.
    """
    inlining = _Inlining(inlined, findings)
    inlining.resolve(clauses)
    others = [replace(c, heads=tuple(a for a in c.heads if a.relation not in inlined)) for c in clauses]
    return [inlining.clause(clause) for clause in others if clause.heads]


@dataclass(frozen=True)
class _Rule:
    """One head of a clause with the clause's body; the body of a fact is true."""

    head: f.BodyAtom
    body: f.BodyFormula

    def nodes(self) -> Iterator[e.SyntaxNode]:
        """Return all nodes of the body and in the head, including those of aggregates."""
        return (node for part in (self.body, *self.head.arguments) for node in nodes_in(part))

    def atoms(self) -> list[f.BodyAtom]:
        """Return the atoms of the body and of aggregates."""
        return [node for node in self.nodes() if isinstance(node, f.BodyAtom)]

    def names(self) -> set[str]:
        """Return all variables, including those of aggregates."""
        return {node.name for node in self.nodes() if isinstance(node, e.Variable)}

    def outside(self) -> set[str]:
        """Return the variables that occur outside of aggregates and quantifiers."""
        return {v.name for argument in self.head.arguments for v in variables(argument)} | names_in(self.body)

    def targets(self) -> set[str]:
        """Return the variables of aggregates' targets, which are distinct from outer variables of the same name."""
        aggregates = (node for node in self.nodes() if isinstance(node, f.AggregateExpression))
        return {v.name for aggregate in aggregates for target in aggregate.targets for v in variables(target)}


class _Inlining:
    """Expands atoms to bodies. `_rules` are the expanded rules of inlined relations."""

    def __init__(self, inlined: Mapping[str, Declaration], findings: Findings) -> None:
        self._inlined, self._findings = inlined, findings
        self._rules: dict[str, list[_Rule]] = {}
        self._numbers = itertools.count(1)

    def resolve(self, clauses: Sequence[Clause]) -> None:
        """Expand the rules of inlined relations in dependency order."""
        rules = [_Rule(head, c.body or f.Truth(True, span=c.span)) for c in clauses for head in c.heads]
        written = {name: [rule for rule in rules if rule.head.relation == name] for name in self._inlined}
        reads = {name: [a.relation for rule in of for a in rule.atoms()] for name, of in written.items()}
        for names in components(reads):
            if len(names) > 1 or names[0] in reads[names[0]]:
                self._refuse_cycle(names, [rule for name in names for rule in written[name]])
                continue
            (name,) = names
            self._rules[name] = [
                _Rule(with_expressions(rule.head, self._expression), self._formula(rule.body, _Around.RULE))
                for rule in written[name]
            ]

    def clause(self, clause: Clause) -> Clause:
        """Return the clause with inlined relations expanded, also in aggregates of its heads."""
        heads = tuple(with_expressions(head, self._expression) for head in clause.heads)
        return replace(clause, heads=heads, body=clause.body and self._formula(clause.body, _Around.RULE))

    def _formula(self, formula: f.BodyFormula, around: _Around) -> f.BodyFormula:
        """Return the formula with inlined relations expanded."""
        if isinstance(formula, f.Conjunction | f.Disjunction):
            return replace(formula, parts=tuple(self._formula(part, around) for part in formula.parts))
        if isinstance(formula, f.Negation | f.Quantified):
            return replace(formula, part=self._formula(formula.part, _Around.QUANTIFIER))
        formula = with_expressions(formula, self._expression)
        if isinstance(formula, f.BodyAtom) and formula.relation in self._rules:
            return self._bodies(formula, around)
        return formula

    def _expression(self, expression: e.Expression) -> e.Expression:
        def inside(part: e.Expression) -> e.Expression:
            if not isinstance(part, f.AggregateExpression):
                return part
            targets = tuple(map(self._expression, part.targets))
            return replace(part, targets=targets, body=self._formula(part.body, _Around.AGGREGATE))

        return rewrite(expression, inside)

    def _bodies(self, atom: f.BodyAtom, around: _Around) -> f.BodyFormula:
        """Return the disjunction of the rules' bodies for an atom of an inlined relation."""
        given, unnamed = self._named_arguments(atom)
        quantified = unnamed if around is _Around.QUANTIFIER else []
        bodies = [self._body(rule, atom, given, quantified, around) for rule in self._rules[atom.relation]]
        return _joined(f.Disjunction, bodies, atom)

    def _body(
        self,
        rule: _Rule,
        atom: f.BodyAtom,
        arguments: Sequence[e.Expression],
        quantified: Sequence[e.Variable],
        around: _Around,
    ) -> f.BodyFormula:
        """Return the body of a rule for the arguments of an atom, with fresh names for its own variables.

        Its own variables and those `quantified` become an existential, except directly in a rule.
        """
        names: dict[str, e.Expression] = {}
        equations: list[tuple[e.Expression, e.Expression]] = []
        own = [*quantified]
        attributes = self._inlined[atom.relation].attributes
        for argument, attribute, given in zip(rule.head.arguments, attributes, arguments, strict=True):
            if isinstance(argument, e.Variable) and argument.name not in names.keys() | rule.targets():
                names[argument.name] = given
            else:
                typed = e.Cast(argument, attribute.type, span=argument.span) if is_structure(argument) else argument
                equations.append((given, typed))
        fresh = {name: self._fresh(atom, name) for name in sorted(rule.names() - names.keys())}
        own += [fresh[name] for name in sorted(rule.outside() & fresh.keys())]

        def change(node: Any) -> Any:
            if not isinstance(node, e.Variable):
                return node
            return names.get(node.name) or replace(node, name=fresh[node.name].name)

        conditions = [
            f.BodyComparison("=", given, transform(argument, change), span=atom.span) for given, argument in equations
        ]
        body = _joined(f.Conjunction, [*conditions, transform(rule.body, change)], atom)
        return body if around is _Around.RULE else f.Quantified("exists", tuple(own), body, span=atom.span)

    def _named_arguments(self, atom: f.BodyAtom) -> tuple[list[e.Expression], list[e.Variable]]:
        """Return the arguments of an atom with wildcards named, and these names; an argument may be used in several
        places.

        Numbers and structures are cast to the types of the attributes.
        """
        unnamed: list[e.Variable] = []

        def named(part: e.Expression) -> e.Expression:
            if not isinstance(part, e.Wildcard):
                return part
            unnamed.append(self._fresh(part))
            return unnamed[-1]

        attributes = self._inlined[atom.relation].attributes
        arguments = [
            e.Cast(rewrite(given, named), attribute.type, span=given.span)
            if isinstance(given, e.NumberLiteral) or is_structure(given)
            else rewrite(given, named)
            for given, attribute in zip(atom.arguments, attributes, strict=True)
        ]
        return arguments, unnamed

    def _fresh(self, node: e.SyntaxNode, name: str = "_") -> e.Variable:
        """Return a variable that is unused in all rules, because names contain no dot."""
        return e.Variable(f"{name}.{next(self._numbers)}", span=node.span)

    def _refuse_cycle(self, names: Sequence[str], rules: Sequence[_Rule]) -> None:
        """Report inlined relations that depend on each other, at the first such atom."""
        atom = next(a for rule in rules for a in rule.atoms() if a.relation in names)
        way = " and ".join(f"`{name}`" for name in names)
        message = f"{way} cannot be inlined: " + (
            "it depends on itself" if len(names) == 1 else "they depend on each other"
        )
        place = self._inlined[names[0]].span.place
        self._findings.append(atom.span.error(message, f"remove `inline` from its declaration at {place}"))


def _joined(
    kind: type[f.Conjunction | f.Disjunction], parts: Sequence[f.BodyFormula], atom: f.BodyAtom
) -> f.BodyFormula:
    return parts[0] if len(parts) == 1 else kind(tuple(parts), span=atom.span)
