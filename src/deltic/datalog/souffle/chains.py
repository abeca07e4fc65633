"""Long chains of one operator, `x1 + x2 - x3 + …`: one node of many operands instead of deeply nested nodes.

Only associative operators form chains. A difference is a sum with a negated operand, which is equivalent
for integers, which wrap around, and for floats, whose sums are computed from left to right.
"""

from __future__ import annotations

from lark import Token, Tree

from deltic.datalog.souffle.context import Parsed, Part

LONGEST = 32
"""The most operators of a chain that are built as nested nodes of two operands."""

DEEPEST = 100
"""The most levels of a program, so that no later step overflows the stack."""

_LEVELS = frozenset(
    (
        *("aggregate", "binary", "prefix", "call", "extremum", "cast", "record", "adt_value"),
        *("negation", "conjunction", "disjunction", "implication", "quantified"),
    )
)
_FAMILIES = {
    **dict.fromkeys(("+", "-"), "+"),
    **{operator: operator for operator in ("*", "band", "bor", "bxor", "land", "lor", "lxor")},
}
"""The operator of the chain to which each operator belongs."""


def family_of(parsed: Parsed) -> str | None:
    """Return the operator of a chain that ends with this tree, None if it is not part of one."""
    return _FAMILIES.get(str(parsed.children[1])) if parsed.data == "binary" else None


def goes_on(parsed: Parsed, child: Part) -> bool:
    """Return whether the child of a tree continues its chain to the left."""
    family = family_of(parsed)
    is_left = family is not None and child is parsed.children[0]
    return is_left and isinstance(child, Tree) and family_of(child) == family


def chain_of(parsed: Parsed) -> tuple[Part, list[tuple[Token, Part]]]:
    """Return the first operand of a chain, and the others from left to right, each with its operator."""
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


def too_deep(program: Parsed) -> Parsed | None:
    """Return the first part of a program nested more than `DEEPEST` levels deep; an operator chain is one level."""
    pending: list[tuple[Parsed, int]] = [(program, 0)]
    while pending:
        current, depth = pending.pop()
        if depth > DEEPEST:
            return current
        for child in reversed(current.children):
            if isinstance(child, Tree):
                pending.append((child, depth + (child.data in _LEVELS and not goes_on(current, child))))
    return None
