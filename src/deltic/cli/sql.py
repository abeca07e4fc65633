"""`deltic sql`: statements from files, from a pipe, or typed in a shell."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from deltic.cli.answer import run_text
from deltic.errors import DataError, DelticError, Diagnostic
from deltic.pipeline.epochs.observing import unlogged
from deltic.pipeline.session import Pipeline


def sql_command(
    files: Sequence[Path], command: str | None, state: str | None, functions: Path | None, given: Sequence[str]
) -> None:
    """Run the statements of the files, then those of `command`, else of standard input, in a shell on a terminal.

    With a state directory the pipeline starts from it and keeps its state there.
    `functions` is a module with functions of Python, `given` has the values of parameters, as NAME=VALUE.
    Without a terminal standard input is read only where there is no file. The first mistake ends it, but in the shell.
    """
    unlogged()
    args = dict(map(_argument, given)) if given else None
    with Pipeline(state=state, functions=functions or ()) as pipeline:
        for file in files:
            run_text(pipeline, _text(file), str(file), args)
        if command is not None:
            run_text(pipeline, command, "<command>", args)
        elif sys.stdin.isatty():
            from deltic.cli.shell import run_shell

            run_shell(pipeline)
        elif not files:
            run_text(pipeline, sys.stdin.read(), "<stdin>", args)
        if pipeline.sql_transaction is not None:
            raise DelticError("the transaction that BEGIN opened was not committed; COMMIT would have ended it")


def _argument(given: str) -> tuple[str, Any]:
    """Parse NAME=VALUE: a JSON value where it is one, else a text."""
    name, equals, value = given.partition("=")
    if not equals or not name.isidentifier():
        raise DelticError(f"--arg {given}: expected NAME=VALUE, as in --arg id=7")
    try:
        return name, json.loads(value, parse_float=Decimal)
    except ValueError:
        return name, value


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError([Diagnostic("the file is not UTF-8 text", str(file))]) from error
