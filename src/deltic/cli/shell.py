"""The shell of `deltic sql`: lines with history and completion, until `;` ends a statement."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Iterator
from pathlib import Path

from deltic import __version__, caches
from deltic.cli.answer import run_text
from deltic.cli.report import print_error
from deltic.errors import DelticError
from deltic.passwords import redacted
from deltic.pipeline.session import Pipeline
from deltic.sql.statements.reading import is_complete

_PROMPT, _CONTINUED = "deltic> ", "   ...> "
_HELP = """\
Type a statement of SQL and end it with `;`. It may extend over lines; Ctrl-C forgets what was typed of it.

  CREATE TABLE t (id INT PRIMARY KEY, name STRING);       a table
  CREATE VIEW v AS SELECT count(*) AS n FROM t;           a view, kept fresh from now on
  INSERT INTO t VALUES (1, 'ada');                        also DELETE, UPDATE, MERGE: each is one epoch
  BEGIN;  …;  COMMIT;                                     several as one epoch; ROLLBACK leaves no trace of them
  SELECT * FROM v;                                        the rows as they are now
  EXPLAIN v;                                              how v is kept fresh, and what that costs
  SHOW TABLES;  DESCRIBE t;                               what there is

  .help   this text
  .quit   leave, as Ctrl-D does
"""
_WORDS = (
    "SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET JOIN LEFT RIGHT FULL CROSS ON USING UNION ALL INTERSECT "
    "EXCEPT DISTINCT AS AND OR NOT IN EXISTS BETWEEN LIKE IS NULL CASE WHEN THEN ELSE END WITH RECURSIVE VALUES CREATE "
    "TABLE VIEW MATERIALIZED REPLACE PRIMARY KEY DROP INSERT INTO DELETE UPDATE SET MERGE MATCHED EXPLAIN EXTENDED "
    "BEGIN COMMIT ROLLBACK "
    "SHOW TABLES VIEWS COLUMNS DESCRIBE INT BIGINT DOUBLE STRING BOOLEAN DATE TIMESTAMP DECIMAL COUNT SUM AVG MIN MAX"
)
_KEPT = 1000


def shell(pipeline: Pipeline) -> None:
    """Read and run statements until the end of the input; mistakes are told, and change nothing."""
    _set_up_lines(pipeline)
    print(f"Deltic {__version__}; .help tells what can be typed")
    for text in _inputs():
        if text.strip().rstrip(";") == ".quit":
            return
        if text.strip().rstrip(";") == ".help":
            print(_HELP)
            continue
        try:
            run_text(pipeline, text, "<sql>")
        except DelticError as error:
            print_error(error)
        except KeyboardInterrupt:
            print("interrupted; nothing of it was done")


def _inputs() -> Iterator[str]:
    """What is typed: a command that begins with a point, or statements up to the `;` that ends a line."""
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
        if typed.startswith(".") or is_complete(typed):
            yield typed
            typed = ""


def _set_up_lines(pipeline: Pipeline) -> None:
    """Let lines be edited, remembered and completed, where the system has readline."""
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
    """Write the lines that were typed, without passwords."""
    import readline

    for number in range(readline.get_current_history_length()):
        readline.replace_history_item(number, redacted(readline.get_history_item(number + 1)))
    readline.write_history_file(history)


def completed(pipeline: Pipeline, begun: str, number: int) -> str | None:
    """The keyword, relation or column of that number that begins as what was typed."""
    schemas = [*pipeline.tables.values(), *pipeline.views.values()]
    names = [*pipeline, *(name for schema in schemas for name in schema.names)]
    words = [word if begun.isupper() or not begun else word.lower() for word in _WORDS.split()]
    found = [word for word in dict.fromkeys([*names, *words]) if word.lower().startswith(begun.lower())]
    return found[number] if number < len(found) else None
