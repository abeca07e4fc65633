"""What a program remembers that its tables do not determine."""

from __future__ import annotations

from deltic.program.frontiers import frontiers
from deltic.program.program import Program


def remembered(program: Program) -> str:
    """What a program remembers that its tables do not determine; nothing if its views are a function of its tables."""
    for name, relation in program.relations.items():
        if relation.definition.remembers:
            return f"{name} remembers epochs"
    if rows := frontiers(program).rows:
        return f"rows of {next(iter(rows))} are forgotten"
    return ""
