"""`deltic run --commands`: run a program by the command language of its front end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from deltic.cli.report import print_error
from deltic.errors import DelticError
from deltic.pipeline.definitions.programs import read_program
from deltic.pipeline.session import Pipeline


def run_by_commands(
    program: Path,
    language: str,
    commands: Path,
    directories: Sequence[Path],
    initial: bool,
    make: Callable[[], Pipeline],
) -> int:
    """Run the commands and print their output; return the exit status, 1 after the first error."""
    try:
        with make() as pipeline:
            session = pipeline.command_session(read_program(program), language, str(program), directories)
            session.begin(is_silent=not initial)
            if str(commands) == "-":
                session.run(sys.stdin.read(), "<stdin>", Path())
            else:
                session.run(read_program(commands), str(commands), Path())
    except DelticError as error:
        sys.stdout.flush()
        print_error(error)
        return 1
    return 0
