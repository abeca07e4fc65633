"""Solving integer equations for a variable: modulo 2⁶⁴, sums, differences, complements and XOR have inverses."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from deltic.circuit.expressions import operands_of, type_of
from deltic.values.types import Type

_SAME = (exp.Neg, exp.BitwiseNot)


def solve(
    value: exp.Expression, expression: exp.Expression, name: str, types: Mapping[str, Type]
) -> exp.Expression | None:
    """Return the value of column `name` for which `expression` equals `value`, both integers of one type; None if
    unsolvable.

    The column occurs in the expression at least once.
    """
    type_, expression = type_of(value, types), expression.copy()
    while not isinstance(expression, exp.Column):
        if not type_.is_integer or type_of(expression, types) is not type_:
            return None
        operands = operands_of(expression)
        places = [i for i, o in enumerate(operands) if any(c.name == name for c in o.find_all(exp.Column))]
        if len(places) != 1:
            return None
        inner, others = operands[places[0]], [o for i, o in enumerate(operands) if i != places[0]]
        if isinstance(expression, _SAME):
            value = type(expression)(this=value)
        elif isinstance(expression, exp.BitwiseXor):
            value = exp.BitwiseXor(this=value, expression=others[0])
        elif isinstance(expression, exp.Add):
            value = exp.Sub(this=value, expression=others[0])
        elif isinstance(expression, exp.Sub):
            value = (
                exp.Sub(this=others[0], expression=value) if places[0] else exp.Add(this=value, expression=others[0])
            )
        elif not isinstance(expression, exp.Paren):
            return None
        expression = inner
    return value if type_of(expression, types) is type_ else None
