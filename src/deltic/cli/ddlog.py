"""`deltic run --ddlog-commands`: a DDlog program under its command language."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from deltic.cli.report import print_error
from deltic.errors import DataError, DelticError, Diagnostic
from deltic.pipeline.ddlog.session import Session
from deltic.pipeline.session import Pipeline


def run_ddlog(
    program: Path, commands: Path, libraries: Sequence[Path], initial: bool, make: Callable[[], Pipeline]
) -> int:
    """Print what the commands print; the exit status, 1 after the first error."""
    try:
        with make() as pipeline:
            session = session_of(program, pipeline, libraries)
            session.begin(is_silent=not initial)
            if str(commands) == "-":
                session.run(sys.stdin.read(), "<stdin>", Path())
            else:
                session.run(_text(commands), str(commands), Path())
    except DelticError as error:
        sys.stdout.flush()
        print_error(error)
        return 1
    return 0


def session_of(program: Path, pipeline: Pipeline, libraries: Sequence[Path]) -> Session:
    """What runs commands on a program, which the pipeline has from now on. Raises DelticError."""
    return pipeline.ddlog(_text(program), str(program), libraries)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError([Diagnostic("it is not UTF-8 text", str(file))]) from error
