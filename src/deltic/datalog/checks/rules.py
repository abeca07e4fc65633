"""Checks facts and rules one by one: each head with each alternative of the body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from deltic.datalog.checks.aggregates import name_aggregates
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.checks.declarations import Signatures
from deltic.datalog.checks.directives import ProgramSettings
from deltic.datalog.checks.functors import Functors
from deltic.datalog.checks.grounding import check_bound
from deltic.datalog.checks.literals import check_atoms, check_literals, check_wildcards
from deltic.datalog.checks.normal_form import Literals, compare_fields, reported_alternatives
from deltic.datalog.checks.subtypes import Declared, check_subtypes
from deltic.datalog.checks.type_names import ANY, Findings, TypeTable, sized
from deltic.datalog.checks.typing import Typing
from deltic.datalog.memory import MadeOnce, RulesOf
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax.expressions import is_structure, nodes_in, rewrite
from deltic.datalog.syntax.formulas import Aggregation, BodyAtom, BodyFormula, Negation, with_expressions, with_inner
from deltic.datalog.syntax.program import Clause
from deltic.datalog.syntax.source import Span
from deltic.values.types import Type

KeyT = TypeVar("KeyT", str, Span)


class RuleChecker:
    """Checks clauses against the declarations, and returns their rules in normal form."""

    def __init__(
        self,
        signatures: Signatures,
        types: TypeTable,
        functors: Functors,
        settings: ProgramSettings,
        known: MadeOnce[RulesOf],
        findings: Findings,
    ) -> None:
        lattice = None if settings.legacy else types.lattice
        self._declared = lattice and Declared(signatures, lattice, functors.names)
        self._signatures, self._types, self._functors, self._findings = signatures, types, functors, findings
        self._known, self._word_size = known, settings.word_size
        self._any = ANY.union((t for s in signatures.values() for t in s.types if t), types.structures)
        self._around = settings, [*types.declared.values()], functors.names, functors.functions
        self.warnings: Findings = []
        """Likely mistakes in valid rules."""

    def rules(self, clauses: Sequence[Clause]) -> list[CheckedRule]:
        """Return the rules of the clauses, in order; rules with findings must not be used."""
        return [rule for clause in clauses for rule in self._remembered(clause)]

    def check_as_written(self, clauses: Sequence[Clause]) -> None:
        """Report errors in clauses before inlining, except for unbound variables, which inlining may bind."""
        for clause in clauses:
            for head in clause.heads:
                for alternative in self._bodies(clause):
                    self._rule(*name_aggregates(head, alternative, self._findings), clause.span)
        self._declared = None  # what inlining makes of rules joins values of types that no one declares to be one

    def _remembered(self, clause: Clause) -> Sequence[CheckedRule]:
        """Return the rules of a clause; those of an earlier check if all of its dependencies are unchanged."""
        known = self._known.get(clause)
        if known is not None and known.given == self._dependencies(known.reads):
            self.warnings += known.warnings
            return known.rules
        findings, warnings = len(self._findings), len(self.warnings)
        rules = tuple(self._rules_of(clause))
        if len(self._findings) == findings:
            reads = tuple(dict.fromkeys(node.relation for node in nodes_in(clause) if isinstance(node, BodyAtom)))
            self._known.keep(RulesOf(reads, self._dependencies(reads), rules, tuple(self.warnings[warnings:])), clause)
        return rules

    def _dependencies(self, reads: Sequence[str]) -> object:
        """Return the dependencies of a clause that mentions these relations; types are compared by name."""
        result = [self._signatures.get(name) for name in reads]
        return [s and (s.attributes, s.names or s.types) for s in result], self._declared is None, self._around

    def _rules_of(self, clause: Clause) -> Iterator[CheckedRule]:
        bodies = self._bodies(clause)
        for head in clause.heads:
            for alternative in bodies:
                named, body = name_aggregates(head, compare_fields(head, alternative), self._findings)
                check_bound(named, body, len(bodies), self._findings)
                yield self._rule(named, body, clause.span)

    def _bodies(self, clause: Clause) -> list[Literals]:
        return reported_alternatives(clause.body, self._findings) if clause.body else [()]

    def _rule(self, head: BodyAtom, body: Literals, span: Span) -> CheckedRule:
        before = len(self._findings)
        check_atoms(head, body, self._signatures, self._findings)
        check_wildcards(head, body, self._findings)
        typing = Typing(self._any, self._signatures, self._types, self._functors.profiles, self._findings)
        for literal in (*sorted(body, key=_says_little), head):
            typing.literal(literal)
        typing.settle()
        rule = CheckedRule(head, body, self._sized(typing.variables()), self._sized(typing.expressions()), span)
        for literal in (head, *with_inner(body)):
            check_literals(literal, rule.type_of, self._findings, self.warnings)
        if self._declared and len(self._findings) == before:
            check_subtypes(head, body, typing.fields(), self._declared, self._findings)
        plain = _plain(typing.shapes(), typing.conversions, self._functors)
        bare = tuple(with_expressions(literal, plain) for literal in body)
        return CheckedRule(with_expressions(head, plain), bare, rule.variables, rule.types, span)

    def _sized(self, types: Mapping[KeyT, Type]) -> Mapping[KeyT, Type]:
        return {key: sized(type_, self._word_size) for key, type_ in types.items()}


def _says_little(literal: BodyFormula) -> int:
    """Return a sort key: literals that say the most about types come first."""
    return 0 if isinstance(literal, BodyAtom) else 1 if isinstance(literal, Negation | Aggregation) else 2


def _plain(
    shapes: Mapping[Span, str], conversions: Mapping[Span, str], functors: Functors
) -> Callable[[e.Expression], e.Expression]:
    """Return a function that removes an expression's casts, and adds shapes to structures and functions to calls."""

    def part(expression: e.Expression) -> e.Expression:
        if isinstance(expression, e.Cast):
            functor = conversions.get(expression.span)
            return (
                e.FunctorCall(functor, (expression.argument,), span=expression.span) if functor else expression.argument
            )
        if is_structure(expression) and expression.span in shapes:
            return e.Pack(expression.functor, expression.arguments, shapes[expression.span], span=expression.span)
        if isinstance(expression, e.FunctorCall) and expression.functor in functors.functions:
            function = functors.functions[expression.functor]
            return e.UserFunctorCall(expression.functor, expression.arguments, function, span=expression.span)
        return expression

    return lambda expression: rewrite(expression, part)
