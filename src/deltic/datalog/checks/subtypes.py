"""Subtype checks, as in Soufflé: the types of a variable's occurrences must have a common subtype.

A head accepts no value of a wider type than it declares. Constants, results of functors and columns of other front ends
have base types, which may be used as any of their subtypes. Conflicts between base types are reported by `typing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from deltic.datalog.checks.declarations import RelationSignature, Signatures
from deltic.datalog.checks.type_names import Findings, Lattice, Names
from deltic.datalog.syntax import formulas as f
from deltic.datalog.syntax.expressions import Cast, Expression, FunctorCall, Variable, subexpressions
from deltic.datalog.syntax.formulas import expressions_of, with_inner
from deltic.datalog.syntax.source import Span

Parameters: TypeAlias = Sequence[str]

_LEAVE = '`.pragma "legacy"` leaves subtypes unchecked'
_CLASH = f"no value is declared to be of both; `as(..., type)` gives a value another type, and {_LEAVE}"


@dataclass(frozen=True)
class Declared:
    """The declared types of a program; for functors the parameter types and, last, the result type."""

    signatures: Signatures
    lattice: Lattice
    functors: Mapping[str, Parameters]


@dataclass(frozen=True)
class _Source:
    """The reason for the type of a variable."""

    type_: str
    phrase: str
    span: Span


def check_subtypes(
    head: f.BodyAtom,
    body: Sequence[f.BodyFormula],
    fields: Mapping[Span, Parameters],
    declared: Declared,
    findings: Findings,
) -> None:
    """Report variables of a rule whose types have no common subtype, and arguments of its head of too wide a type.

    `fields` are the types of the fields of records and branches, by position.
    """
    rule = _Rule(declared, fields, findings)
    literals = [*with_inner(body)]
    for literal in literals:
        rule.equate(literal)
    for literal in literals:
        rule.take(literal)
    rule.take_inside(head)
    rule.give(head)


class _Rule:
    """The types of the variables of one rule; equated variables share one type."""

    def __init__(self, declared: Declared, fields: Mapping[Span, Parameters], findings: Findings) -> None:
        self._declared, self._lattice = declared, declared.lattice
        self._fields, self._findings = fields, findings
        self._same: dict[str, str] = {}
        self._types: dict[str, Names] = {}
        self._sources: dict[str, _Source] = {}

    def equate(self, literal: f.BodyFormula) -> None:
        """Merge the variables on both sides of a comparison, and the result of an aggregate with its target."""
        if isinstance(literal, f.BodyComparison):
            self._equate(literal.left, literal.right)
        elif isinstance(literal, f.Test):
            self._equate(*literal.arguments)
        elif isinstance(literal, f.Aggregation) and literal.function in ("min", "max", "sum"):
            self._equate(literal.result, *literal.targets)

    def _equate(self, left: Expression, right: Expression) -> None:
        if isinstance(left, Variable) and isinstance(right, Variable):
            self._same.setdefault(self._root(left), self._root(right))

    def _root(self, variable: Variable) -> str:
        name = variable.name
        while self._same.get(name, name) != name:
            name = self._same[name]
        return name

    def take(self, literal: f.BodyFormula) -> None:
        """Add the types of a positive literal of the body to its variables."""
        self.take_inside(literal)
        if isinstance(literal, f.BodyAtom) and (signature := self._signature(literal)):
            for argument, name, type_ in zip(literal.arguments, signature.attributes, signature.names, strict=True):
                self._narrow(argument, type_, f"attribute `{name}` of `{literal.relation}`")
        elif isinstance(literal, f.BodyComparison):
            for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(side, Variable) and (type_ := self._result_type(other)):
                    self._narrow(side, type_, f"`{other.span.text}`")

    def take_inside(self, literal: f.BodyFormula) -> None:
        """Add the parameter types of functors and structures to the variables in their arguments."""
        for outermost in expressions_of(literal):
            for part in subexpressions(outermost):
                if isinstance(part, FunctorCall):
                    given = self._fields.get(part.span) or self._declared.functors.get(part.functor, ())
                    for argument, type_ in zip(part.arguments, given, strict=False):
                        self._narrow(argument, type_, f"an argument of `{part.span.text}`")

    def give(self, head: f.BodyAtom) -> None:
        """Report the arguments of the head whose types are wider than their attributes."""
        signature = self._signature(head)
        if not signature:
            return
        for argument, name, type_ in zip(head.arguments, signature.attributes, signature.names, strict=True):
            wide = sorted(result for result in self._of(argument) if not self._may_be(result, type_))
            if wide and type_:
                message = f"`{argument.span.text}` is of type `{wide[0]}`, but attribute `{name}` of "
                message += f"`{head.relation}` is of type `{type_}`"
                why = f"not every `{wide[0]}` is a `{type_}`: write `as({argument.span.text}, {type_})` where it is"
                self._findings.append(argument.span.error(message, f"{self._reason(argument)}{why}; {_LEAVE}"))

    def _may_be(self, actual: str, declared: str) -> bool:
        if self._lattice.is_subtype(actual, declared):
            return True
        return self._lattice.is_root(actual) and self._lattice.is_subtype(declared, actual)

    def _of(self, expression: Expression) -> Iterable[str]:
        if isinstance(expression, Variable):
            return self._types.get(self._root(expression), ())
        return [given] if (given := self._result_type(expression)) else ()

    def _result_type(self, expression: Expression) -> str:
        """Return the declared type of an expression's result, "" for a base type."""
        if isinstance(expression, Cast):
            return expression.type.name
        given = self._declared.functors.get(expression.functor, ()) if isinstance(expression, FunctorCall) else ()
        return given[-1] if given else ""

    def _narrow(self, expression: Expression, type_: str, phrase: str) -> None:
        """Restrict a variable to another type; report it if no common subtype is left."""
        if not type_ or not isinstance(expression, Variable):
            return
        root = self._root(expression)
        wanted = frozenset({self._lattice.plain(type_)})
        before = self._types.get(root, wanted)
        result = self._lattice.common(before, wanted)
        self._types[root] = result
        if result or not before:
            self._sources.setdefault(root, _Source(type_, phrase, expression.span))
            return
        source = self._sources[root]
        message = f"`{expression.span.text}` is of type `{type_}` as {phrase}, but of type `{source.type_}` as "
        message += f"{source.phrase} at {source.span.place}"
        finding = expression.span.error(message, _CLASH)
        if finding not in self._findings:
            self._findings.append(finding)

    def _reason(self, argument: Expression) -> str:
        source = self._sources.get(self._root(argument)) if isinstance(argument, Variable) else None
        return f"`{argument.span.text}` is {source.phrase} at {source.span.place}; " if source else ""

    def _signature(self, atom: f.BodyAtom) -> RelationSignature | None:
        """Return the signature of an atom's relation, if the number of arguments is right."""
        signature = self._declared.signatures.get(atom.relation)
        fits = signature and len(signature.names) == len(atom.arguments)
        return signature if fits else None
