"""How deep a program may be nested, so that no later step runs out of stack."""

from __future__ import annotations

from lark import Tree

from deltic.datalog.souffle.context import Parsed

DEEPEST = 100

_LEVELS = frozenset(
    (
        "aggregate",
        "binary",
        "prefix",
        "call",
        "extremum",
        "cast",
        "record",
        "adt_value",
        "negation",
        "conjunction",
        "disjunction",
        "implication",
        "quantified",
    )
)


def too_deep(program: Parsed) -> Parsed | None:
    """The first part of a program that has `DEEPEST` levels of operators around it."""
    pending: list[tuple[Parsed, int]] = [(program, 0)]
    while pending:
        current, depth = pending.pop()
        depth += current.data in _LEVELS
        if depth > DEEPEST:
            return current
        pending.extend((child, depth) for child in reversed(current.children) if isinstance(child, Tree))
    return None
