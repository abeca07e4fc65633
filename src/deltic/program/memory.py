"""What a program knows that its tables do not tell."""

from __future__ import annotations

from deltic.program.frontiers import frontiers
from deltic.program.operators.delay import Delayed
from deltic.program.operators.window import Windowed
from deltic.program.program import Program


def remembered(program: Program) -> str:
    """What a program knows that its tables do not tell; nothing for one whose views are a function of its tables."""
    for name, relation in program.relations.items():
        if isinstance(relation.definition, Delayed | Windowed):
            return f"{name} remembers epochs"
    if rows := frontiers(program).rows:
        return f"rows of {next(iter(rows))} are forgotten"
    return ""
