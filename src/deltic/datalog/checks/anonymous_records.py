"""Removes records that only connect variables in equations, so that they need no declared type.

In `r = [x, y], s = r, s = [v, w]` neither `r` nor `s` is in an atom, so this means only `x = v, y = w`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from deltic.datalog.checks.normal_form import Literals
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax.expressions import fields_of, nodes_in, substituted
from deltic.datalog.syntax.formulas import BodyAtom, BodyComparison, BodyFormula, is_equation

_PLAIN = (e.Variable, e.Wildcard, e.NumberLiteral, e.UnsignedLiteral, e.FloatLiteral, e.StringLiteral)


def compare_fields(head: BodyAtom, body: Literals) -> Literals:
    """Return the literals with equations of records replaced by equations of fields where that is equivalent."""
    while True:
        between = next((each for each in body if _is_between_records(each)), None)
        if between is not None:
            place = body.index(between)
            body = (*body[:place], *_of_fields(between), *body[place + 1 :])
        elif result := next(_definitions(head, body), None):
            variable, record, definition = result
            body = tuple(substituted(literal, variable, record) for literal in body if literal is not definition)
        else:
            return body


def _is_record(expression: e.Expression) -> TypeGuard[e.FunctorCall]:
    """Return whether the expression is a record whose fields are variables, literals and wildcards."""
    is_record = isinstance(expression, e.FunctorCall) and expression.functor == e.RECORD
    return is_record and all(isinstance(field, _PLAIN) for field in fields_of(expression))


def _is_between_records(literal: BodyFormula) -> TypeGuard[BodyComparison]:
    if not (is_equation(literal) and _is_record(literal.left) and _is_record(literal.right)):
        return False
    return len(literal.left.arguments) == len(literal.right.arguments)


def _of_fields(equation: BodyComparison) -> Iterator[BodyComparison]:
    """Yield the equations of the fields; a wildcard equals everything."""
    assert isinstance(equation.left, e.FunctorCall)
    assert isinstance(equation.right, e.FunctorCall)
    for left, right in zip(equation.left.arguments, equation.right.arguments, strict=True):
        if not isinstance(left, e.Wildcard) and not isinstance(right, e.Wildcard):
            yield BodyComparison("=", left, right, span=equation.span)


def _definitions(head: BodyAtom, body: Literals) -> Iterator[tuple[e.Variable, e.FunctorCall, BodyComparison]]:
    """Yield the variables that equal a record and otherwise occur only as sides of equations, with the record."""
    for literal in body:
        if is_equation(literal):
            for side, record in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(side, e.Variable) and _is_record(record):
                    others = (part for part in (head, *body) if part is not literal)
                    if side not in nodes_in(record) and not any(_needs(part, side) for part in others):
                        yield side, record, literal


def _needs(literal: BodyFormula, variable: e.Variable) -> bool:
    """Return whether a variable occurs in a literal other than as a side of an equation."""
    if is_equation(literal):
        return any(variable in nodes_in(side) for side in (literal.left, literal.right) if side != variable)
    return variable in nodes_in(literal)
