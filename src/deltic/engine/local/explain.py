"""What a user reads about a view: its incremental circuit, and the plans that keep it fresh."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.circuit.graph import Circuit
from deltic.engine.local.evaluate import Evaluation
from deltic.engine.local.rules import Program


def explain(program: Program, circuit: Circuit, name: str, evaluations: Sequence[Evaluation]) -> str:
    """The incremental circuit, and the delta queries of the relations that `name` depends on, in order."""
    needed = _dependencies(name, evaluations)
    lines = ["incremental circuit:", *("  " + line for line in str(circuit).splitlines()), ""]
    for stratum in program.strata:
        for relation in (r for r in stratum.relations if r in needed):
            kind = program.relations[relation].kind.value
            lines.append(f"{relation}: {kind}")
            lines += [
                "  " + line for e in evaluations if e.query.head == relation for line in e.plan.describe().splitlines()
            ]
    return "\n".join(lines)


def _dependencies(name: str, evaluations: Sequence[Evaluation]) -> set[str]:
    needed = {name}
    pending = [name]
    while pending:
        head = pending.pop()
        for evaluation in evaluations:
            if evaluation.query.head == head:
                body = evaluation.query.body
                fresh = {a.relation for a in (*body.atoms, *body.absent)} - needed
                needed |= fresh
                pending.extend(fresh)
    return needed
