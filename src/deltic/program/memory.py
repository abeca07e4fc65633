"""State of past epochs that a program's tables do not determine."""

from __future__ import annotations

from deltic.program.frontiers import frontiers
from deltic.program.program import Program


def remembered(program: Program) -> str:
    """A text that names state which the tables do not determine; "" if the views are a function of the tables."""
    for name, relation in program.relations.items():
        if relation.definition.remembers:
            return f"{name} remembers epochs"
    if rows := frontiers(program).rows:
        return f"rows of {next(iter(rows))} are forgotten"
    return ""
