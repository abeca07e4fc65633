"""`deltic explain`."""

from __future__ import annotations

from pathlib import Path

import typer

from deltic.calculus import incrementalize
from deltic.calculus.inside import operators_inside
from deltic.calculus.recursion import chain
from deltic.circuit import operators as ops
from deltic.circuit.drawing import to_dot, to_mermaid, to_svg
from deltic.circuit.graph import Circuit
from deltic.cli.options import ExplainFormat, ProgramOptions, TextOptions
from deltic.pipeline.commanding import CommandedFrontEnd
from deltic.pipeline.definitions.front_ends import front_end_of
from deltic.pipeline.job.job import load_facts, load_program
from deltic.pipeline.session import Pipeline

_DRAWINGS = {"dot": to_dot, "mermaid": to_mermaid, "svg": to_svg}


def explain_command(
    program: Path,
    view: str | None,
    form: ExplainFormat,
    full: bool,
    facts: Path | None,
    written: TextOptions,
    text: ProgramOptions,
    language: str = "",
    allow_outside: bool = False,
) -> None:
    """Print how one view or every view is kept fresh, in short or in `full`.

    With a folder of facts the views are computed first, so that the plan for these facts is shown with its estimates.
    A drawing shows the circuit and its incremental form, of all views together when none is named; for a view that is
    recursive, naive and semi-naive evaluation between them.
    """
    front = front_end_of(program, language)
    if isinstance(front, CommandedFrontEnd) and (facts or text.define):
        message = f"programs of {front.title} have rows from commands, and no macros: without --facts, -M"
        raise typer.BadParameter(message)
    pipeline = Pipeline(functions=text.functions or (), pragmas=text.pragmas)
    load_program(program, front, pipeline, text.macros, text.include_dir or ())
    if facts is not None:
        from deltic.pipeline.io.splits import ArrowReader

        load_facts(front, facts, written.form, pipeline, ArrowReader(), allow_outside)
    print(_text(pipeline, view, full) if form == "text" else _drawing(pipeline, view, form))


def _text(pipeline: Pipeline, view: str | None, full: bool) -> str:
    if view:
        return pipeline.explain(view, full)
    lines = [f"  {line}" for line in str(pipeline.catalog).splitlines()]
    return "\n\n".join(["\n".join(["catalog:", *lines]), *(pipeline.explain(name, full) for name in pipeline.views)])


def _drawing(pipeline: Pipeline, view: str | None, form: ExplainFormat) -> str:
    circuit = pipeline.circuit(view)
    between = _recursion(circuit) if view else {}
    return _DRAWINGS[form]({"circuit": circuit, **between, "incremental circuit": incrementalize(circuit)})


def _recursion(circuit: Circuit) -> dict[str, Circuit]:
    """The steps of a recursive circuit on the way to its incremental form."""
    if not any(isinstance(operator, ops.Fixpoint) for operator in operators_inside(circuit)):
        return {}
    steps = chain(circuit)
    return {"naive": steps["naive"], "semi-naive": steps["semi_naive"]}
