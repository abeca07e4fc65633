"""Errors for users: what is wrong, where, and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deltic.passwords import redacted


class DelticError(Exception):
    """The base of every error that Deltic raises on purpose: nothing was changed, unless it is a BrokenError."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(redacted(each) if isinstance(each, str) else each for each in arguments))


@dataclass(frozen=True)
class Diagnostic:
    """One finding about a text: a program or a data file.

    `line` and `column` count from 1 and are 0 when the finding has no place inside the file;
    `length` is the number of characters that the caret line underlines.
    """

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    source: str = ""
    length: int = 1
    hint: str = ""

    def __post_init__(self) -> None:
        """Remove passwords; the caret keeps its place."""
        before = self.source[: max(0, self.column - 1)]
        column = self.column + len(redacted(before)) - len(before)
        texts = {name: redacted(getattr(self, name)) for name in ("message", "file", "source", "hint")}
        for name, value in (texts | {"column": column}).items():
            object.__setattr__(self, name, value)

    @property
    def place(self) -> str:
        """The file, the line and the column, as far as they are known."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)

    def render(self) -> str:
        """Return the finding as text: place, message, source line, carets, hint."""
        lines = [f"{self.place}: {self.message}" if self.place else self.message]
        if self.source and self.column:
            gutter = " " * len(str(self.line))
            tabs_kept = "".join("\t" if c == "\t" else " " for c in self.source[: self.column - 1])
            lines += [
                f" {self.line} | {self.source}",
                f" {gutter} | {tabs_kept}{'^' * max(1, self.length)}",
            ]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class DiagnosticError(DelticError):
    """An error made of one or more findings about a text, in the order of their places."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(d.render() for d in self.diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diagnostics,)


class ProgramError(DiagnosticError):
    """A program is wrong."""


class ProgramWarning(UserWarning):
    """A Datalog program probably does not mean what was intended; `warnings` silences or raises it."""


class DataError(DiagnosticError):
    """Input data cannot be read as rows of its relation."""

    def of(self, operation: str) -> DataError:
        """Return the error with the operation's name in front of each finding that has no place in a file."""
        diagnostics = [d if d.file else replace(d, message=f"{operation}: {d.message}") for d in self.diagnostics]
        return DataError(diagnostics)


class CatalogError(DelticError):
    """Definitions of tables and views conflict: a name is taken, or something does not exist.

    `column` is the column concerned, or "".
    """

    def __init__(self, message: str, column: str = "") -> None:
        self.column = column
        super().__init__(message)


class CircuitError(DelticError):
    """A circuit would be ill-formed [DBSP §9.4]."""


class ChangeError(DelticError):
    """A transaction conflicts with the rows of its tables, or a definition changed meanwhile."""


class LateError(ChangeError):
    """Rows are later than their table's lateness allows, and the policy is "error"."""


class DefinitionsMovedError(ChangeError, CatalogError):
    """Another thread changed the definitions that this transaction or statement uses; nothing was applied."""


class BusyError(DelticError):
    """Other threads held the pipeline for longer than `Transactions(timeout=…)`."""


class StoppedError(DelticError):
    """A statement was cancelled or exceeded its time limit."""


class MemoryLimitError(StoppedError):
    """A question took more memory than it may."""


class UnsupportedError(DelticError):
    """The engine cannot run an operator or expression."""


class StateError(DelticError):
    """A directory of state is damaged, in use by another process, or not Deltic's."""


class BrokenError(DelticError):
    """An epoch could neither be committed nor undone: open the pipeline again."""


class ReadOnlyError(DelticError):
    """The state is open for reading alone; the message says who writes it."""


class StreamError(DelticError):
    """A stream, or a batch of it, was refused; the query stops."""


class EvaluationError(DelticError):
    """A row of a view has no value where it must have one."""


class CountOverflowError(EvaluationError):
    """A row would occur more often than 64 bits can count. `relations` are the computed relations, once known."""

    def __init__(self, message: str = "", relations: tuple[str, ...] = ()) -> None:
        self.relations = relations
        super().__init__(
            message
            or "a count overflows 64 bits: a row, or a sum over a group, is beyond 2^63 - 1; nothing was changed. "
            "Take rows once, with DISTINCT or UNION, before they multiply"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return CountOverflowError, (str(self), self.relations)

    def of(self, relations: Sequence[str]) -> CountOverflowError:
        """Return the same error of these relations, where it does not know of which it is."""
        return self if self.relations else CountOverflowError(str(self), tuple(relations))

    def naming_views(self, views: Sequence[str]) -> CountOverflowError:
        """Return the same error with the views that read the relations."""
        message = " and ".join(views or self.relations)
        return CountOverflowError(f"{message}: {self}", self.relations)


class IterationLimitError(UnsupportedError):
    """A recursion exceeded its iteration limit. The message names the cause; `relations` are those of the recursion."""

    def __init__(self, message: str, relations: tuple[str, ...]) -> None:
        self.relations = relations
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return IterationLimitError, (str(self), self.relations)

    def naming_views(self, views: Sequence[str]) -> IterationLimitError:
        """Return the same error with the views that read the recursion, where they are no relations of it."""
        others = [view for view in views if view not in self.relations]
        return IterationLimitError(f"{' and '.join(others)}: {self}", self.relations) if others else self


def count_of(number: int, noun: str) -> str:
    """Return a number of things in words, as in "1 row", "2 rows", "no rows"."""
    return f"{f'{number:,}' if number else 'no'} {noun}{'' if number == 1 else 's'}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name most like `name`, "" when none is alike. The case of letters counts little."""
    candidates = list(known)
    lowered = {candidate.lower(): candidate for candidate in reversed(candidates)}
    if name.lower() in lowered:
        return lowered[name.lower()]
    matches = difflib.get_close_matches(name, candidates, 1, 0.6)
    return matches[0] if matches else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest name, "" when none is alike."""
    result = nearest(name, known)
    return f"did you mean `{result}`?" if result else ""
