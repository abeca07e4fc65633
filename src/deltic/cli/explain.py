"""`deltic explain`."""

from __future__ import annotations

from pathlib import Path

from deltic.calculus import incrementalize
from deltic.circuit.drawing import to_dot, to_mermaid
from deltic.cli.options import ExplainFormat
from deltic.cli.report import print_error
from deltic.errors import DelticError
from deltic.pipeline.job import load_program
from deltic.pipeline.session import Pipeline

_DRAWINGS = {ExplainFormat.dot: to_dot, ExplainFormat.mermaid: to_mermaid}


def explain_command(program: Path, view: str | None, form: ExplainFormat) -> int:
    """Print how one view, or each of them, is computed; the exit status.

    A drawing shows the circuit and its incremental form, of all views together when none is named.
    """
    pipeline = Pipeline()
    try:
        load_program(program, pipeline)
        explained = _text(pipeline, view) if form is ExplainFormat.text else _drawing(pipeline, view, form)
    except DelticError as error:
        print_error(error)
        return 1
    print(explained)
    return 0


def _text(pipeline: Pipeline, view: str | None) -> str:
    return "\n\n".join(pipeline.explain(name) for name in ([view] if view else pipeline.views))


def _drawing(pipeline: Pipeline, view: str | None, form: ExplainFormat) -> str:
    circuit = pipeline.circuit(view)
    return _DRAWINGS[form]({"circuit": circuit, "incremental circuit": incrementalize(circuit)})
