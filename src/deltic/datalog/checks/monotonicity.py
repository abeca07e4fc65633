"""Whether a rule holds more or less often when the relations in an aggregate grow.

`count : { … } > 3` can only become true, `count : { … } < 3` only false. A result that is used in another way has no
known direction, because a new result replaces the old one.
"""

from __future__ import annotations

from collections.abc import Sequence

from deltic.datalog.syntax.expressions import Expression, NumberLiteral, UnsignedLiteral, Variable, variables
from deltic.datalog.syntax.formulas import Aggregation, BodyComparison, BodyFormula, is_equation, mentions_of

_RISING = {"count", "max"}
_UP, _DOWN = {">", ">="}, {"<", "<="}
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def direction(aggregation: Aggregation, arguments: Sequence[Expression], body: Sequence[BodyFormula]) -> int:
    """1 if the rule can only hold more often when the aggregate's body does, -1 if only less often, else 0.

    `arguments` are those of the rule's head, `body` is the body that contains the aggregate.
    """
    names = _names_of_result(aggregation, body)
    if any(v.name in names for argument in arguments for v in variables(argument)):
        return 0
    uses = [literal for literal in body if literal is not aggregation and _mentions(literal, names)]
    turns = {_turn(aggregation, literal, names) for literal in uses if not _is_alias(literal, names)}
    return turns.pop() if len(turns) == 1 else 0


def _names_of_result(aggregation: Aggregation, body: Sequence[BodyFormula]) -> set[str]:
    """Return the names of the result, including variables that equal it."""
    names, size = {aggregation.result.name}, 0
    while size < len(names):
        size = len(names)
        for literal in body:
            if is_equation(literal):
                sides = [side.name for side in (literal.left, literal.right) if isinstance(side, Variable)]
                if len(sides) == 2 and names.intersection(sides):
                    names.update(sides)
    return names


def _mentions(literal: BodyFormula, names: set[str]) -> bool:
    return any(v.name in names for v in mentions_of(literal)) or (
        isinstance(literal, Aggregation) and literal.result.name in names
    )


def _is_alias(literal: BodyFormula, names: set[str]) -> bool:
    return is_equation(literal) and all(
        isinstance(side, Variable) and side.name in names for side in (literal.left, literal.right)
    )


def _turn(aggregation: Aggregation, literal: BodyFormula, names: set[str]) -> int:
    """Return the direction of one comparison with the result; `min` and `max` of an empty body have no value."""
    if not isinstance(literal, BodyComparison) or literal.operator not in _UP | _DOWN:
        return 0
    left, right = (any(v.name in names for v in variables(side)) for side in (literal.left, literal.right))
    if left == right or not isinstance(literal.left if left else literal.right, Variable):
        return 0
    above = (literal.operator if left else _MIRRORED[literal.operator]) in _UP
    if aggregation.function == "min":
        return 0 if above else 1
    if not (aggregation.function in _RISING or _adds_up(aggregation)):
        return 0
    return 1 if above else 0 if aggregation.function == "max" else -1


def _adds_up(aggregation: Aggregation) -> bool:
    """Return whether it is a sum of a constant that is not negative."""
    if aggregation.function != "sum":
        return False
    (target,) = aggregation.targets
    return isinstance(target, NumberLiteral | UnsignedLiteral) and target.value >= 0
