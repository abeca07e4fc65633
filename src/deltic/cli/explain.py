"""`deltic explain`."""

from __future__ import annotations

import typer

from deltic.calculus import incrementalize
from deltic.calculus.inside import operators_inside
from deltic.calculus.recursion import chain
from deltic.circuit import operators as ops
from deltic.circuit.drawing import to_dot, to_mermaid, to_svg
from deltic.circuit.graph import Circuit
from deltic.cli.options import ExplainFormat, ExplainOptions
from deltic.pipeline.commanding import CommandedFrontEnd
from deltic.pipeline.definitions.front_ends import front_end_of
from deltic.pipeline.session import Pipeline

_DRAWINGS = {"dot": to_dot, "mermaid": to_mermaid, "svg": to_svg}


def explain_command(options: ExplainOptions) -> None:
    """Print how one view or every view of a program or a state is kept fresh, in short or in `full`.

    With a folder of facts the views are computed first, so that the plan for these facts is shown with its estimates.
    A drawing shows the circuit and its incremental form, of all views together when none is named; for a view that is
    recursive, naive and semi-naive evaluation between them.
    """
    program, view, form = options.program, options.view, options.output_format
    front = None if program.is_dir() else front_end_of(program, options.by.language)
    if front is None and options.facts:
        raise typer.BadParameter("a state has its rows: without --facts")
    if isinstance(front, CommandedFrontEnd) and (options.facts or options.by.text.define):
        message = f"programs of {front.title} have rows from commands, and no macros: without --facts, -M"
        raise typer.BadParameter(message)
    pipeline = options.by.opened(program, options.facts, options.outside)
    print(_text(pipeline, view, options.full) if form == "text" else _drawing(pipeline, view, form))


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
    """Return the steps of a recursive circuit on the way to its incremental form."""
    if not any(isinstance(operator, ops.Fixpoint) for operator in operators_inside(circuit)):
        return {}
    steps = chain(circuit)
    return {"naive": steps["naive"], "semi-naive": steps["semi_naive"]}
