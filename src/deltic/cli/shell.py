"""The shell of `deltic sql`: lines with history and completion, until `;` ends a statement."""

from __future__ import annotations

import atexit
import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from deltic import __version__, caches
from deltic.cli.answer import print_changes, run_text
from deltic.cli.report import print_error
from deltic.errors import DelticError, did_you_mean
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
    """Yield the inputs: a command of one line, or statements up to a `;` at the end of a line."""
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
    """Return the completion of this number: a keyword, relation or column that begins with the typed text."""
    schemas = [*pipeline.tables.values(), *pipeline.views.values()]
    names = [*pipeline, *(name for schema in schemas for name in schema.names)]
    words = [word if begun.isupper() or not begun else word.lower() for word in _WORDS.split()]
    result = [word for word in dict.fromkeys([*names, *words]) if word.lower().startswith(begun.lower())]
    return result[number] if number < len(result) else None


_STATEMENTS = """\
Type a statement of SQL and end it with `;`. It may extend over lines; Ctrl-C forgets what was typed of it, Ctrl-R
searches what was typed before, Tab completes.

  CREATE TABLE t (id INT PRIMARY KEY, name STRING);       a table
  CREATE VIEW v AS SELECT count(*) AS n FROM t;           a view, kept fresh from now on
  INSERT INTO t VALUES (1, 'ada');                        also DELETE, UPDATE, MERGE: each is one epoch
  BEGIN;  …;  COMMIT;                                     several as one epoch; ROLLBACK leaves no trace of them
  SELECT * FROM v;                                        the rows as they are now
  EXPLAIN v;                                              how v is kept fresh, and what that costs
"""


@dataclass
class Shell:
    """Options of the shell's output."""

    pipeline: Pipeline
    times: bool = False
    changes: bool = True
    ended: bool = field(default=False, init=False)
    """Whether the user has asked to leave."""

    def run(self, text: str) -> None:
        """Run statements, or a command. Raises DelticError."""
        if (result := _found(text)) is not None:
            command, argument = result
            command.run(self, argument)
            return
        if is_command(text):
            name, known = text.split()[0], [name for command in _COMMANDS for name in command.names]
            raise DelticError(f"there is no command {name}; {did_you_mean(name, known) or 'help lists them'}")
        with self._timed():
            run_text(self.pipeline, text, "<sql>", each=print_changes if self.changes else None)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            if self.times:
                print(f"{1000 * (time.perf_counter() - started):,.1f} ms")


def is_command(line: str) -> bool:
    """Return whether a line is a command of the shell, which needs no `;`."""
    return _found(line) is not None or line.lstrip().startswith((".", "\\"))


@dataclass(frozen=True)
class _Command:
    names: tuple[str, ...]
    told: str
    run: Callable[[Shell, str], None]
    takes: str = ""
    """What follows the name, for the help; "" for nothing."""


def _help(shell: Shell, _: str) -> None:
    print(_STATEMENTS)
    for command in _COMMANDS:
        names = "  ".join(f"{name} {command.takes}".rstrip() for name in command.names)
        print(f"  {names:56}{command.told}")


def _leave(shell: Shell, _: str) -> None:
    shell.ended = True


def _toggle(option: str, what: str) -> Callable[[Shell, str], None]:
    def toggle(shell: Shell, _: str) -> None:
        setattr(shell, option, is_shown := not getattr(shell, option))
        print(f"{what} are {'shown' if is_shown else 'not shown'}")

    return toggle


def _describe(shell: Shell, name: str) -> None:
    shell.run(f"DESCRIBE EXTENDED {name};" if name else "SHOW TABLES;")


def _statement(text: str) -> Callable[[Shell, str], None]:
    return lambda shell, _: shell.run(text)


_COMMANDS = (
    _Command((".tables", r"\dt"), "tables and views", _statement("SHOW TABLES;")),
    _Command((r"\dv",), "views", _statement("SHOW VIEWS;")),
    _Command((".schema", r"\d"), "the columns of a table or view, its key and more", _describe, "NAME"),
    _Command((".timer", r"\timing"), "show how long statements take, or not", _toggle("times", "times")),
    _Command(
        (".changes",), "show which rows of views a statement changed, or not", _toggle("changes", "changes of views")
    ),
    _Command((".help", r"\?", "help"), "this text", _help),
    _Command((".quit", ".exit", r"\q", "quit", "exit"), "leave, as Ctrl-D does", _leave),
)


def _found(text: str) -> tuple[_Command, str] | None:
    """Return the command of a line, and its argument."""
    name, _, argument = text.strip().rstrip(";").strip().partition(" ")
    for command in _COMMANDS:
        if name.lower() in command.names and (command.takes or not argument):
            return command, argument.strip()
    return None
