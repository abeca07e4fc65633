"""Inlining: atoms of inlined relations are replaced by the bodies of their rules, and the relations are not computed.

An atom becomes the disjunction of the rules' bodies, with its arguments for the head's. This happens before
the check for unbound variables, so that `lt(a, b) :- a < b.` may be inlined although its rows cannot be enumerated.
Under `!` and in aggregates, variables that only the body has are existentially quantified: `!` excludes all of their
values, and an aggregate does not count them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from deltic.catalog.components import components
from deltic.datalog.checks.normal_form import names_in
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.expressions import (
    Cast,
    Expression,
    NumberLiteral,
    SyntaxNode,
    Variable,
    Wildcard,
    is_structure,
    rewrite,
    subexpressions,
    variables,
)
from deltic.datalog.syntax.formulas import (
    AggregateExpression,
    BodyAtom,
    BodyComparison,
    BodyFormula,
    Conjunction,
    Disjunction,
    Negation,
    Quantified,
    Truth,
    expressions_of,
    with_expressions,
)
from deltic.datalog.syntax.program import Clause, Declaration

Change = Callable[[Expression], Expression]


class _Around(Enum):
    """The nearest context of an atom: in rules and aggregates `_` is another variable, under `!` it is quantified."""

    RULE = 0
    AGGREGATE = 1
    QUANTIFIER = 2


def inline_relations(clauses: Sequence[Clause], inlined: Mapping[str, Declaration], findings: Findings) -> list[Clause]:
    """The clauses of all other relations, with inlined relations expanded.

    Relations that cannot be inlined are reported.
    """
    inlining = _Inlining(inlined, findings)
    inlining.resolve(clauses)
    others = [replace(c, heads=tuple(a for a in c.heads if a.relation not in inlined)) for c in clauses]
    return [inlining.clause(clause) for clause in others if clause.heads]


@dataclass(frozen=True)
class _Rule:
    """One head of a clause with the clause's body; the body of a fact is true."""

    head: BodyAtom
    body: BodyFormula

    def names(self) -> set[str]:
        """All variables, including those of aggregates."""
        inside = {v.name for a in self.aggregates() for e in _expressions(a.body) for v in variables(e)}
        mentioned = {v.name for e in (*self.head.arguments, *_expressions(self.body)) for v in variables(e)}
        return mentioned | inside | self.targets()

    def outside(self) -> set[str]:
        """The variables that occur outside of aggregates and quantifiers."""
        return {v.name for e in self.head.arguments for v in variables(e)} | names_in(self.body)

    def aggregates(self) -> list[AggregateExpression]:
        """The aggregates, including nested ones."""
        return [a for e in (*self.head.arguments, *_expressions(self.body)) for a in _aggregates(e)]

    def targets(self) -> set[str]:
        """The variables of aggregates' targets, which are distinct from outer variables of the same name."""
        return {v.name for a in self.aggregates() for target in a.targets for v in variables(target)}


class _Inlining:
    """Expands atoms to bodies. `_rules` are the expanded rules of inlined relations."""

    def __init__(self, inlined: Mapping[str, Declaration], findings: Findings) -> None:
        self._inlined, self._findings = inlined, findings
        self._rules: dict[str, list[_Rule]] = {}
        self._numbers = itertools.count(1)

    def resolve(self, clauses: Sequence[Clause]) -> None:
        """Expand the rules of inlined relations in dependency order."""
        rules = [_Rule(head, c.body or Truth(True, span=c.span)) for c in clauses for head in c.heads]
        written = {name: [rule for rule in rules if rule.head.relation == name] for name in self._inlined}
        reads = {name: [a.relation for rule in of for a in _atoms(rule)] for name, of in written.items()}
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
        """The clause with inlined relations expanded, also in aggregates of its heads."""
        heads = tuple(with_expressions(head, self._expression) for head in clause.heads)
        return replace(clause, heads=heads, body=clause.body and self._formula(clause.body, _Around.RULE))

    def _formula(self, formula: BodyFormula, around: _Around) -> BodyFormula:
        """The formula with inlined relations expanded."""
        if isinstance(formula, Conjunction | Disjunction):
            return replace(formula, parts=tuple(self._formula(part, around) for part in formula.parts))
        if isinstance(formula, Negation | Quantified):
            return replace(formula, part=self._formula(formula.part, _Around.QUANTIFIER))
        formula = with_expressions(formula, self._expression)
        if isinstance(formula, BodyAtom) and formula.relation in self._rules:
            return self._bodies(formula, around)
        return formula

    def _expression(self, expression: Expression) -> Expression:
        def inside(part: Expression) -> Expression:
            if not isinstance(part, AggregateExpression):
                return part
            targets = tuple(map(self._expression, part.targets))
            return replace(part, targets=targets, body=self._formula(part.body, _Around.AGGREGATE))

        return rewrite(expression, inside)

    def _bodies(self, atom: BodyAtom, around: _Around) -> BodyFormula:
        """The disjunction of the rules' bodies for an atom of an inlined relation."""
        given, unnamed = self._named_arguments(atom)
        quantified = unnamed if around is _Around.QUANTIFIER else []
        bodies = [self._body(rule, atom, given, quantified, around) for rule in self._rules[atom.relation]]
        return _joined(Disjunction, bodies, atom)

    def _body(
        self,
        rule: _Rule,
        atom: BodyAtom,
        arguments: Sequence[Expression],
        quantified: Sequence[Variable],
        around: _Around,
    ) -> BodyFormula:
        """The body of a rule for the arguments of an atom, with fresh names for its own variables.

        Its own variables and those `quantified` become an existential, except directly in a rule.
        """
        names: dict[str, Expression] = {}
        equations: list[tuple[Expression, Expression]] = []
        own = [*quantified]
        attributes = self._inlined[atom.relation].attributes
        for argument, attribute, given in zip(rule.head.arguments, attributes, arguments, strict=True):
            if isinstance(argument, Variable) and argument.name not in names.keys() | rule.targets():
                names[argument.name] = given
            else:
                typed = Cast(argument, attribute.type, span=argument.span) if is_structure(argument) else argument
                equations.append((given, typed))
        fresh = {name: self._fresh(atom, name) for name in sorted(rule.names() - names.keys())}
        own += [fresh[name] for name in sorted(rule.outside() & fresh.keys())]
        change = _substitution(names, {name: variable.name for name, variable in fresh.items()})
        conditions = [BodyComparison("=", given, change(argument), span=atom.span) for given, argument in equations]
        body = _joined(Conjunction, [*conditions, _changed(rule.body, change)], atom)
        return body if around is _Around.RULE else Quantified("exists", tuple(own), body, span=atom.span)

    def _named_arguments(self, atom: BodyAtom) -> tuple[list[Expression], list[Variable]]:
        """The arguments of an atom with wildcards named, and these names; an argument may be used in several places.

        Numbers and structures are cast to the types of the attributes.
        """
        unnamed: list[Variable] = []

        def named(part: Expression) -> Expression:
            if not isinstance(part, Wildcard):
                return part
            unnamed.append(self._fresh(part))
            return unnamed[-1]

        attributes = self._inlined[atom.relation].attributes
        arguments = [
            Cast(rewrite(given, named), attribute.type, span=given.span)
            if isinstance(given, NumberLiteral) or is_structure(given)
            else rewrite(given, named)
            for given, attribute in zip(atom.arguments, attributes, strict=True)
        ]
        return arguments, unnamed

    def _fresh(self, node: SyntaxNode, name: str = "_") -> Variable:
        """A variable that is unused in all rules, because names contain no dot."""
        return Variable(f"{name}.{next(self._numbers)}", span=node.span)

    def _refuse_cycle(self, names: Sequence[str], rules: Sequence[_Rule]) -> None:
        """Report inlined relations that depend on each other, at the first such atom."""
        atom = next(a for rule in rules for a in _atoms(rule) if a.relation in names)
        way = " and ".join(f"`{name}`" for name in names)
        message = f"{way} cannot be inlined: " + (
            "it depends on itself" if len(names) == 1 else "they depend on each other"
        )
        self._findings.append(atom.span.error(message, self._remedy(names[0])))

    def _remedy(self, name: str) -> str:
        return f"remove `inline` from its declaration at {self._inlined[name].span.place}"


def _joined(kind: type[Conjunction | Disjunction], parts: Sequence[BodyFormula], atom: BodyAtom) -> BodyFormula:
    return parts[0] if len(parts) == 1 else kind(tuple(parts), span=atom.span)


def _substitution(names: Mapping[str, Expression], fresh: Mapping[str, str]) -> Change:
    """A function that replaces some variables by expressions and renames the others, in aggregates too."""

    def part(expression: Expression) -> Expression:
        if isinstance(expression, Variable):
            given = names.get(expression.name)
            return given or replace(expression, name=fresh[expression.name])
        if isinstance(expression, AggregateExpression):
            targets = tuple(map(change, expression.targets))
            return replace(expression, targets=targets, body=_changed(expression.body, change))
        return expression

    def change(expression: Expression) -> Expression:
        return rewrite(expression, part)

    return change


def _changed(formula: BodyFormula, change: Change) -> BodyFormula:
    """The formula with `change` applied to each of its outermost expressions."""
    if isinstance(formula, Conjunction | Disjunction):
        return replace(formula, parts=tuple(_changed(part, change) for part in formula.parts))
    if isinstance(formula, Negation):
        return replace(formula, part=_changed(formula.part, change))
    if isinstance(formula, Quantified):
        bound = tuple(v for v in map(change, formula.variables) if isinstance(v, Variable))
        return replace(formula, variables=bound, part=_changed(formula.part, change))
    return with_expressions(formula, change)


def _literals(formula: BodyFormula) -> Iterator[BodyFormula]:
    """The atoms, comparisons and tests of a formula, outside of aggregates."""
    if isinstance(formula, Conjunction | Disjunction):
        for part in formula.parts:
            yield from _literals(part)
    elif isinstance(formula, Negation | Quantified):
        yield from _literals(formula.part)
    else:
        yield formula


def _expressions(formula: BodyFormula) -> list[Expression]:
    return [expression for literal in _literals(formula) for expression in expressions_of(literal)]


def _aggregates(expression: Expression) -> Iterator[AggregateExpression]:
    """The aggregates of an expression, each before those nested in it."""
    for part in subexpressions(expression):
        if isinstance(part, AggregateExpression):
            yield part
            for inner in (*_expressions(part.body), *part.targets):
                yield from _aggregates(inner)


def _outer_atoms(formula: BodyFormula) -> list[BodyAtom]:
    return [literal for literal in _literals(formula) if isinstance(literal, BodyAtom)]


def _atoms(rule: _Rule) -> list[BodyAtom]:
    """The atoms of a rule, including those in its aggregates."""
    inside = [atom for aggregate in rule.aggregates() for atom in _outer_atoms(aggregate.body)]
    return [*_outer_atoms(rule.body), *inside]
