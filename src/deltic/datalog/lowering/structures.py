"""Unpacks structures: an equation with a record or a branch becomes equations for its unbound fields.

If only x is bound, `x = [a, [b, _]]` means a = field 0 of x, and b = field 0 of field 1 of x. If x is no
argument of an atom and all variables of the structure are bound otherwise, the equation stays: the structure is built
and compared. Under `!`, and in heads, structures are always built.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.checks.grounding import bound_variables, taken_apart
from deltic.datalog.souffle.functions.structures import FLOATS, KINDS, letters_of
from deltic.datalog.syntax import expressions as e
from deltic.datalog.syntax.expressions import fields_of, variables
from deltic.datalog.syntax.formulas import BodyAtom, BodyComparison, BodyFormula, Truth, is_equation


def unpack_structures(rule: CheckedRule) -> CheckedRule:
    """Return the rule with equations that bind variables of a structure replaced by equations for its fields."""
    return _Unpacking(rule).rule() if any(map(_is_match, rule.body)) else rule


def unify_structures(rule: CheckedRule) -> CheckedRule:
    """Return the rule with equations between structures replaced by equations of fields, also if both equal one
    variable.

    Structures with floats are excluded, because equal floats may differ, and those with wildcards.
    """
    if not any(map(_is_match, rule.body)):
        return rule
    first: dict[e.Expression, e.Pack] = {}
    unpacking, body = _Unpacking(rule), list[BodyFormula]()
    for literal in (part for given in rule.body for part in unpacking.split(given)):
        if not (_is_match(literal) and _is_plain_match(literal)):
            body.append(literal)
            continue
        structure, value = _match(literal)
        known = first.setdefault(value, structure)
        equation = BodyComparison("=", known, structure, span=literal.span)
        body += [literal] if known is structure else unpacking.split(equation)
    return replace(rule, body=tuple(body))


def _is_plain_match(equation: BodyComparison) -> bool:
    structure, value = _match(equation)
    parts = [part for part in fields_of(structure) if isinstance(part, e.Wildcard)]
    return isinstance(value, e.Variable) and not parts and not {*letters_of(structure.shape)} & {*FLOATS}


def _is_match(literal: BodyFormula) -> TypeGuard[BodyComparison]:
    """Return whether a literal is an equation with a structure."""
    return is_equation(literal) and any(isinstance(side, e.Pack) for side in _sides(literal))


def _sides(equation: BodyComparison) -> tuple[e.Expression, e.Expression]:
    return equation.left, equation.right


def _hidden(literal: BodyFormula) -> BodyFormula:
    """Return an equation with a structure, changed so that it binds no variables of the structure."""
    if not _is_match(literal):
        return literal
    sides = (e.FunctorCall("", s.arguments, span=s.span) if isinstance(s, e.Pack) else s for s in _sides(literal))
    return BodyComparison("=", *sides, span=literal.span)


def _match(equation: BodyComparison) -> tuple[e.Pack, e.Expression]:
    """Return the structure of an equation, and the other side."""
    left, right = _sides(equation)
    structure, value = (left, right) if isinstance(left, e.Pack) else (right, left)
    assert isinstance(structure, e.Pack)
    return structure, value


def _field_variables(literal: BodyFormula) -> Iterator[e.Variable]:
    """Yield the variable that an equation binds to a field of a structure."""
    if is_equation(literal) and isinstance(literal.right, e.Unpack) and isinstance(literal.left, e.Variable):
        yield literal.left


class _Unpacking:
    def __init__(self, rule: CheckedRule) -> None:
        self._rule = rule
        self._variables, self._types = dict(rule.variables), dict(rule.types)
        self._names = (name for n in itertools.count(1) if (name := f"_f{n}") not in rule.variables)

    def rule(self) -> CheckedRule:
        """Return the rule with structures unpacked."""
        body = [*self._rule.body]
        while result := self._unbinding(body):
            place, structure, value = result
            body[place : place + 1] = self._fields(structure, value)
        return replace(self._rule, body=tuple(body), variables=self._variables, types=self._types)

    def split(self, literal: BodyFormula) -> Iterator[BodyFormula]:
        """Yield an equation of two structures as equations of their fields."""
        if not _is_match(literal):
            yield literal
            return
        left, right = _sides(literal)
        if not (isinstance(left, e.Pack) and isinstance(right, e.Pack)):
            yield literal
        elif left.shape != right.shape:
            yield Truth(False, span=literal.span)
        else:
            for one, other in zip(left.arguments, right.arguments, strict=True):
                if not isinstance(one, e.Wildcard) and not isinstance(other, e.Wildcard):
                    yield from self.split(BodyComparison("=", one, other, span=literal.span))

    def _unbinding(self, body: Sequence[BodyFormula]) -> tuple[int, e.Pack, e.Expression] | None:
        """Return the position of an equation to unpack, its structure and its other side; None if there is none.

        Its other side is a value in an atom, so that its fields join it with other atoms; or it must bind variables of
        the structure.
        """
        stored = {argument for literal in body if isinstance(literal, BodyAtom) for argument in literal.arguments}
        stored |= {variable for literal in body for variable in _field_variables(literal)}
        for place, literal in enumerate(body):
            if _is_match(literal):
                others = bound_variables([*map(_hidden, body[:place]), *map(_hidden, body[place + 1 :])])
                structure, value = _match(literal)
                has_wildcards = any(isinstance(part, e.Wildcard) for part in fields_of(structure))
                is_known = not has_wildcards and taken_apart(structure) <= others
                if value in stored or (not is_known and all(v.name in others for v in variables(value))):
                    return place, structure, value
        return None

    def _fields(self, structure: e.Pack, value: e.Expression) -> Iterator[BodyFormula]:
        """Yield the equations for the fields of a value; at least one, because that also compares the shape."""
        computed = False
        for index, argument in enumerate(structure.arguments):
            if isinstance(argument, e.Wildcard) and (computed or index + 1 < len(structure.arguments)):
                continue
            computed = True
            self._types[argument.span] = type_ = KINDS[letters_of(structure.shape)[index]]
            field = e.Unpack("field", (value,), structure.shape, index, span=argument.span)
            if isinstance(argument, e.Pack) and argument.arguments:
                yield from self._fields(argument, field)
            elif isinstance(argument, e.Wildcard):
                unused = e.Variable(next(self._names), span=argument.span)
                self._variables[unused.name] = type_
                yield BodyComparison("=", unused, field, span=argument.span)
            else:
                yield BodyComparison("=", argument, field, span=argument.span)
