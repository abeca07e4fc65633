"""`deltic explain`."""

from __future__ import annotations

from pathlib import Path

from deltic.cli.report import print_error
from deltic.errors import DelticError
from deltic.pipeline.job import load_program
from deltic.pipeline.session import Pipeline


def explain_command(program: Path, view: str | None) -> int:
    """Print how one view, or each of them, is computed; the exit status."""
    pipeline = Pipeline()
    try:
        load_program(program, pipeline)
        explained = [pipeline.explain(name) for name in ([view] if view else pipeline.views)]
    except DelticError as error:
        print_error(error)
        return 1
    print("\n\n".join(explained))
    return 0
