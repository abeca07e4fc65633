"""Inlined relations: the bodies of their rules stand where their atoms stood, and they are not computed.

An atom becomes the disjunction of the rules' bodies, with its arguments in the place of the head's. This happens before
rules are checked for variables without values, so that `lt(a, b) :- a < b.` may be inlined although no rows of it could
be told. Under `!` and in aggregates a body must have no variables of its own: `!` would need "for none of them", and
an aggregate would count each of their values.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from deltic.catalog.components import components
from deltic.datalog.checks.type_names import Findings
from deltic.datalog.syntax.expressions import (
    Cast,
    Expression,
    Node,
    NumberLiteral,
    Variable,
    Wildcard,
    is_structure,
    rewrite,
    subexpressions,
    variables,
)
from deltic.datalog.syntax.formulas import (
    Aggregate,
    Atom,
    Comparison,
    Conjunction,
    Disjunction,
    Formula,
    Negation,
    Truth,
    expressions_of,
    with_expressions,
)
from deltic.datalog.syntax.program import Clause, Declaration

Change = Callable[[Expression], Expression]


class _Place(Enum):
    """Where an atom stands, with what messages call it."""

    ASSERTED = ""
    DENIED = "behind `!`"
    COUNTED = "in an aggregate"
    DENIED_COUNTED = "behind `!` in an aggregate"


_OPPOSITES = {
    _Place.ASSERTED: _Place.DENIED,
    _Place.DENIED: _Place.ASSERTED,
    _Place.COUNTED: _Place.DENIED_COUNTED,
    _Place.DENIED_COUNTED: _Place.COUNTED,
}


def inline_relations(
    clauses: Sequence[Clause], inlined: Mapping[str, Declaration], nullable: Collection[str], findings: Findings
) -> list[Clause]:
    """The clauses for all other relations, without atoms of those that are inlined.

    What cannot be inlined is reported. Relations of `nullable` may have NULL, which `_` matches and variables do not.
    """
    inlining = _Inlining(inlined, nullable, findings)
    inlining.resolve(clauses)
    others = [replace(c, heads=tuple(a for a in c.heads if a.relation not in inlined)) for c in clauses]
    return [inlining.clause(clause) for clause in others if clause.heads]


@dataclass(frozen=True)
class _Rule:
    """One head of a clause, with the clause's body; that of a fact is true."""

    head: Atom
    body: Formula

    def names(self) -> set[str]:
        """All variables, those of aggregates too."""
        inside = {v.name for a in self.aggregates() for e in _expressions(a.body) for v in variables(e)}
        return self.outside().keys() | inside | self.targets()

    def outside(self) -> Counter[str]:
        """How often each variable is mentioned outside of aggregates."""
        return Counter(v.name for e in (*self.head.arguments, *_expressions(self.body)) for v in variables(e))

    def aggregates(self) -> list[Aggregate]:
        """The aggregates, also those inside of others."""
        return [a for e in (*self.head.arguments, *_expressions(self.body)) for a in _aggregates(e)]

    def targets(self) -> set[str]:
        """The variables of aggregates' targets: they stand for others than those outside that are called the same."""
        return {v.name for a in self.aggregates() if a.target for v in variables(a.target)}


class _Inlining:
    """Puts bodies in the place of atoms. `_rules` are those of relations, without atoms of inlined ones."""

    def __init__(self, inlined: Mapping[str, Declaration], nullable: Collection[str], findings: Findings) -> None:
        self._inlined, self._nullable, self._findings = inlined, nullable, findings
        self._rules: dict[str, list[_Rule]] = {}
        self._numbers = itertools.count(1)

    def resolve(self, clauses: Sequence[Clause]) -> None:
        """Take the inlined relations out of the rules of each other, of those first that depend on none."""
        rules = [_Rule(head, c.body or Truth(True, span=c.span)) for c in clauses for head in c.heads]
        written = {name: [rule for rule in rules if rule.head.relation == name] for name in self._inlined}
        reads = {name: [a.relation for rule in of for a in _atoms(rule)] for name, of in written.items()}
        for names in components(reads):
            if len(names) > 1 or names[0] in reads[names[0]]:
                self._refuse_cycle(names, [rule for name in names for rule in written[name]])
                continue
            (name,) = names
            self._rules[name] = [
                _Rule(with_expressions(rule.head, self._expression), self._formula(rule.body, _Place.ASSERTED))
                for rule in written[name]
            ]

    def clause(self, clause: Clause) -> Clause:
        """The clause without atoms of inlined relations, in aggregates of its heads too."""
        heads = tuple(with_expressions(head, self._expression) for head in clause.heads)
        return replace(clause, heads=heads, body=clause.body and self._formula(clause.body, _Place.ASSERTED))

    def _formula(self, formula: Formula, place: _Place) -> Formula:
        if isinstance(formula, Conjunction | Disjunction):
            return replace(formula, parts=tuple(self._formula(part, place) for part in formula.parts))
        if isinstance(formula, Negation):
            return replace(formula, part=self._formula(formula.part, _OPPOSITES[place]))
        formula = with_expressions(formula, self._expression)
        if isinstance(formula, Atom) and formula.relation in self._rules:
            return self._bodies(formula, place)
        return formula

    def _expression(self, expression: Expression) -> Expression:
        def inside(part: Expression) -> Expression:
            if not isinstance(part, Aggregate):
                return part
            target = part.target and self._expression(part.target)
            return replace(part, target=target, body=self._formula(part.body, _Place.COUNTED))

        return rewrite(expression, inside)

    def _bodies(self, atom: Atom, place: _Place) -> Formula:
        """What stands for an atom of an inlined relation: one of the bodies of its rules."""
        rules = self._rules[atom.relation]
        if place in (_Place.COUNTED, _Place.DENIED_COUNTED) and len(rules) > 1:
            self._refuse(atom, place, f"it has {len(rules)} rules")
        return _joined(Disjunction, [self._body(rule, atom, place) for rule in rules], atom)

    def _body(self, rule: _Rule, atom: Atom, place: _Place) -> Formula:
        """The body of a rule for the arguments of an atom, with new names for its own variables."""
        names: dict[str, Expression] = {}
        equations: list[tuple[Expression, Expression]] = []
        once = self._once(rule) if place in (_Place.DENIED, _Place.DENIED_COUNTED) else set()
        attributes = self._inlined[atom.relation].attributes
        for argument, attribute, given in zip(rule.head.arguments, attributes, self._given(atom), strict=True):
            if isinstance(argument, Variable) and argument.name not in names.keys() | rule.targets():
                is_any = isinstance(given, Wildcard) and argument.name not in once
                names[argument.name] = self._fresh(given) if is_any else given
            else:
                typed = Cast(argument, attribute.type, span=argument.span) if is_structure(argument) else argument
                equations.append((self._fresh(given) if isinstance(given, Wildcard) else given, typed))
        own = rule.outside().keys() - names.keys()
        names |= {name: Wildcard(span=atom.span) for name in own & once}
        if place is not _Place.ASSERTED:
            self._refuse_own(rule, atom, place, own - once)
        fresh = {name: self._fresh(atom, name).name for name in sorted(rule.names() - names.keys())}
        change = _substitution(names, fresh)
        conditions = [Comparison("=", given, change(argument), span=atom.span) for given, argument in equations]
        return _joined(Conjunction, [*conditions, _changed(rule.body, change)], atom)

    def _given(self, atom: Atom) -> list[Expression]:
        """The arguments of an atom; numbers and structures have the types of the attributes, wherever they will stand.

        What stands for `_` in a structure has a name, as the structure may come to stand in several places.
        """

        def named(part: Expression) -> Expression:
            return self._fresh(part) if isinstance(part, Wildcard) else part

        attributes = self._inlined[atom.relation].attributes
        return [
            Cast(rewrite(given, named), attribute.type, span=given.span)
            if isinstance(given, NumberLiteral) or is_structure(given)
            else given
            for given, attribute in zip(atom.arguments, attributes, strict=True)
        ]

    def _once(self, rule: _Rule) -> set[str]:
        """The variables that one atom alone mentions, once: they say what `_` does, which may stand behind `!`."""
        mentions = Counter(v.name for e in _expressions(rule.body) for v in variables(e))
        mentions.update(v.name for a in rule.aggregates() for e in _expressions(a.body) for v in variables(e))
        atoms = [a for a in _outer_atoms(rule.body) if a.relation not in self._nullable]
        return {v.name for a in atoms for v in a.arguments if isinstance(v, Variable) and mentions[v.name] == 1}

    def _fresh(self, node: Node, name: str = "_") -> Variable:
        """A variable that no rule has: a dot is no letter of a name."""
        return Variable(f"{name}.{next(self._numbers)}", span=node.span)

    def _refuse_own(self, rule: _Rule, atom: Atom, place: _Place, own: Collection[str]) -> None:
        """Report the variables of a body that its head does not have, and in an aggregate `_`, which counts too."""
        place_of = rule.head.span.place
        if own:
            self._refuse(atom, place, f"its rule at {place_of} has `{min(own)}`, which is not in the head")
        elif place is _Place.COUNTED and any(isinstance(e, Wildcard) for e in _expressions(rule.body)):
            self._refuse(atom, place, f"its rule at {place_of} has `_`, each value of which would count")

    def _refuse(self, atom: Atom, place: _Place, reason: str) -> None:
        message = f"`{atom.relation}` cannot be inlined {place.value}: {reason}"
        self._findings.append(atom.span.error(message, self._remedy(atom.relation)))

    def _refuse_cycle(self, names: Sequence[str], rules: Sequence[_Rule]) -> None:
        """Report inlined relations that depend on each other, at the first atom that says so."""
        atom = next(a for rule in rules for a in _atoms(rule) if a.relation in names)
        way = " and ".join(f"`{name}`" for name in names)
        told = f"{way} cannot be inlined: " + (
            "it depends on itself" if len(names) == 1 else "they depend on each other"
        )
        self._findings.append(atom.span.error(told, self._remedy(names[0])))

    def _remedy(self, name: str) -> str:
        return f"remove `inline` from its declaration at {self._inlined[name].span.place}"


def _joined(kind: type[Conjunction | Disjunction], parts: Sequence[Formula], atom: Atom) -> Formula:
    return parts[0] if len(parts) == 1 else kind(tuple(parts), span=atom.span)


def _substitution(names: Mapping[str, Expression], fresh: Mapping[str, str]) -> Change:
    """What puts expressions in the place of some variables and gives others new names, in aggregates too."""

    def part(expression: Expression) -> Expression:
        if isinstance(expression, Variable):
            given = names.get(expression.name)
            return given or replace(expression, name=fresh[expression.name])
        if isinstance(expression, Aggregate):
            target = expression.target and change(expression.target)
            return replace(expression, target=target, body=_changed(expression.body, change))
        return expression

    def change(expression: Expression) -> Expression:
        return rewrite(expression, part)

    return change


def _changed(formula: Formula, change: Change) -> Formula:
    """The formula with `change` applied to each of its outermost expressions."""
    if isinstance(formula, Conjunction | Disjunction):
        return replace(formula, parts=tuple(_changed(part, change) for part in formula.parts))
    if isinstance(formula, Negation):
        return replace(formula, part=_changed(formula.part, change))
    return with_expressions(formula, change)


def _literals(formula: Formula) -> Iterator[Formula]:
    """The atoms, comparisons and tests of a formula, outside of aggregates."""
    if isinstance(formula, Conjunction | Disjunction):
        for part in formula.parts:
            yield from _literals(part)
    elif isinstance(formula, Negation):
        yield from _literals(formula.part)
    else:
        yield formula


def _expressions(formula: Formula) -> list[Expression]:
    return [expression for literal in _literals(formula) for expression in expressions_of(literal)]


def _aggregates(expression: Expression) -> Iterator[Aggregate]:
    """The aggregates of an expression, each before those inside it."""
    for part in subexpressions(expression):
        if isinstance(part, Aggregate):
            yield part
            for inner in (*_expressions(part.body), *((part.target,) if part.target else ())):
                yield from _aggregates(inner)


def _outer_atoms(formula: Formula) -> list[Atom]:
    return [literal for literal in _literals(formula) if isinstance(literal, Atom)]


def _atoms(rule: _Rule) -> list[Atom]:
    """The atoms of a rule, in its aggregates too."""
    inside = [atom for aggregate in rule.aggregates() for atom in _outer_atoms(aggregate.body)]
    return [*_outer_atoms(rule.body), *inside]
