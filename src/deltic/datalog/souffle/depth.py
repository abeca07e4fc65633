"""A limit on the nesting of programs, so that no later step overflows the stack."""

from __future__ import annotations

from lark import Tree

from deltic.datalog.souffle.chains import goes_on
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
    """The first part of a program that is nested more than `DEEPEST` levels deep; a chain of operators is one level."""
    pending: list[tuple[Parsed, int]] = [(program, 0)]
    while pending:
        current, depth = pending.pop()
        if depth > DEEPEST:
            return current
        for child in reversed(current.children):
            if isinstance(child, Tree):
                pending.append((child, depth + (child.data in _LEVELS and not goes_on(current, child))))
    return None
