"""The shell of `deltic sql`: lines with history and completion, until `;` ends a statement."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Iterator
from pathlib import Path

from deltic import __version__, caches
from deltic.cli.report import print_error
from deltic.cli.shell_commands import Shell, is_command
from deltic.errors import DelticError
from deltic.passwords import redacted
from deltic.pipeline.session import Pipeline
from deltic.sql.statements.reading import is_complete

_PROMPT, _CONTINUED = "deltic> ", "   ...> "
_WORDS = (
    "SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET JOIN LEFT RIGHT FULL CROSS ON USING UNION ALL INTERSECT "
    "EXCEPT DISTINCT AS AND OR NOT IN EXISTS BETWEEN LIKE IS NULL CASE WHEN THEN ELSE END WITH RECURSIVE VALUES CREATE "
    "TABLE VIEW MATERIALIZED REPLACE PRIMARY KEY DROP INSERT INTO DELETE UPDATE SET MERGE MATCHED EXPLAIN EXTENDED "
    "BEGIN COMMIT ROLLBACK "
    "SHOW TABLES VIEWS COLUMNS DESCRIBE INT BIGINT DOUBLE STRING BOOLEAN DATE TIMESTAMP DECIMAL COUNT SUM AVG MIN MAX"
)
_KEPT = 1000


def run_shell(pipeline: Pipeline) -> None:
    """Read and run statements until the end of the input; errors are printed and change nothing."""
    _set_up_lines(pipeline)
    print(f"Deltic {__version__}; `help` shows what can be typed")
    shell = Shell(pipeline)
    for text in _inputs():
        try:
            shell.run(text)
        except DelticError as error:
            print_error(error)
        except KeyboardInterrupt:
            print("interrupted; nothing of it was done")
        if shell.ended:
            return


def _inputs() -> Iterator[str]:
    """The inputs: a command of one line, or statements up to a `;` at the end of a line."""
    typed = ""
    while True:
        try:
            typed += input(_CONTINUED if typed else _PROMPT) + "\n"
        except KeyboardInterrupt:
            print()
            typed = ""
            continue
        except EOFError:
            print()
            return
        if is_command(typed) or is_complete(typed):
            yield typed
            typed = ""


def _set_up_lines(pipeline: Pipeline) -> None:
    """Set up editing, history and completion of lines, where readline is available."""
    try:
        import readline
    except ImportError:
        return
    with contextlib.suppress(OSError, DelticError):
        history = caches.directory() / "history"
        with contextlib.suppress(FileNotFoundError):
            readline.read_history_file(history)
        readline.set_history_length(_KEPT)
        atexit.register(_keep_lines, history)
    readline.set_completer_delims(" \t\n,();=<>.")
    readline.parse_and_bind("tab: complete")
    readline.set_completer(lambda begun, number: completed(pipeline, begun, number))


def _keep_lines(history: Path) -> None:
    """Write the history, without passwords."""
    import readline

    for number in range(readline.get_current_history_length()):
        readline.replace_history_item(number, redacted(readline.get_history_item(number + 1)))
    readline.write_history_file(history)


def completed(pipeline: Pipeline, begun: str, number: int) -> str | None:
    """The completion of this number: a keyword, relation or column that begins with the typed text."""
    schemas = [*pipeline.tables.values(), *pipeline.views.values()]
    names = [*pipeline, *(name for schema in schemas for name in schema.names)]
    words = [word if begun.isupper() or not begun else word.lower() for word in _WORDS.split()]
    result = [word for word in dict.fromkeys([*names, *words]) if word.lower().startswith(begun.lower())]
    return result[number] if number < len(result) else None
