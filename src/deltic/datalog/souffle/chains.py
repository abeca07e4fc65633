"""Long chains of one operator, `x1 + x2 - x3 + …`: one node of many operands, where each would be a level of its own.

Only operators that may be regrouped make chains. A difference is the sum with what is subtracted below zero: the same
for whole numbers, which wrap around, and for floats, of which sums are computed from left to right.
"""

from __future__ import annotations

from lark import Token, Tree

from deltic.datalog.souffle.context import Parsed, Part

LONGEST = 32
"""How many operators of a chain are still nodes of two operands each."""

_FAMILIES = {
    **dict.fromkeys(("+", "-"), "+"),
    **{operator: operator for operator in ("*", "band", "bor", "bxor", "land", "lor", "lxor")},
}
"""The operator of the one node that a chain of these operators is."""


def family_of(parsed: Parsed) -> str | None:
    """The operator of the chain that a tree may be the end of, None where it is that of none."""
    return _FAMILIES.get(str(parsed.children[1])) if parsed.data == "binary" else None


def goes_on(parsed: Parsed, child: Part) -> bool:
    """Whether the child of a tree is what the chain has to the left of its last operator."""
    family = family_of(parsed)
    is_left = family is not None and child is parsed.children[0]
    return is_left and isinstance(child, Tree) and family_of(child) == family


def chain_of(parsed: Parsed) -> tuple[Part, list[tuple[Token, Part]]]:
    """The first operand of a chain, and the others from left to right, each behind its operator."""
    rest: list[tuple[Token, Part]] = []
    current: Part = parsed
    while isinstance(current, Tree):
        left, operator, right = current.children
        assert isinstance(operator, Token)
        rest.append((operator, right))
        if not goes_on(current, left):
            return left, rest[::-1]
        current = left
    return current, rest[::-1]
