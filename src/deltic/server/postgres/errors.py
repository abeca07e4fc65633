"""Errors in PostgreSQL's form: SQLSTATE, message, hint, position."""

from __future__ import annotations

import re
from collections.abc import Callable

from deltic import errors
from deltic.server.users import NotAllowedError


class PostgresError(errors.DelticError):
    """An error response; `position` counts characters of the text from 1, and is 0 for none."""

    def __init__(
        self, sqlstate: str, message: str, *, hint: str = "", position: int = 0, severity: str = "ERROR"
    ) -> None:
        super().__init__(message)
        self.sqlstate, self.hint, self.position, self.severity = sqlstate, hint, position, severity

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the message."""
        fields = {"S": self.severity, "V": self.severity, "C": self.sqlstate, "M": str(self)}
        optional = {"H": self.hint, "P": str(self.position or "")}
        return fields | {code: text for code, text in optional.items() if text}


# By what a message says; the first that fits counts.
_BY_TEXT = (
    (r"there is no (table or view|table|view)\b", "42P01"),
    (r"there is no column|no column is", "42703"),
    (r"is ambiguous", "42702"),
    (r"there is no function|takes .* arguments?", "42883"),
    (r"there is no type", "42704"),
    (r"there is a (table|view) .* already", "42P07"),
    (r"already a function|there is a function", "42723"),
    (r"cannot be dropped", "2BP01"),
    (r"is a view$", "42809"),
    (r"neither in GROUP BY", "42803"),
    (r"NOT NULL", "23502"),
    (r"is not supported|not supported here", "0A000"),
    (r"and its value is", "42804"),
    (r"several rows would have the key|key .* already|insert a row that is present", "23505"),
    (r"was previewed at epoch|when its rows were counted", "40001"),
    (r"divisor is zero", "22012"),
    (r"the value is no", "22P02"),
)
_BY_CLASS: dict[type[BaseException], str] = {
    NotAllowedError: "42501",
    errors.ReadOnlyError: "25006",
    errors.MemoryLimitError: "53200",
    errors.StoppedError: "57014",
    errors.ProgramError: "42601",
    errors.DefinitionsMovedError: "40001",
    errors.ChangeError: "23000",
    errors.DataError: "22000",
    errors.CountOverflowError: "22003",
    errors.IterationLimitError: "54001",
    errors.EvaluationError: "22000",
    errors.CatalogError: "42601",
    errors.BusyError: "55P03",
    errors.UnsupportedError: "0A000",
    errors.StateError: "58030",
    errors.BrokenError: "XX001",
    MemoryError: "53200",
    errors.DelticError: "22023",
}


def postgres_error(
    error: BaseException, place: Callable[[errors.Diagnostic], int] = lambda finding: 0
) -> PostgresError:
    """Convert an error; `place` gives the position of a finding."""
    if isinstance(error, PostgresError):
        return error
    if not isinstance(error, errors.DelticError | MemoryError):
        return PostgresError("XX000", f"{type(error).__name__}: {error}")
    if isinstance(error, errors.DiagnosticError) and error.diagnostics:
        first = error.diagnostics[0]
        message = "\n".join(finding.message for finding in error.diagnostics)
        return PostgresError(_sqlstate(error, first.message), message, hint=first.hint, position=place(first))
    return PostgresError(_sqlstate(error, str(error)), str(error) or "out of memory")


def _sqlstate(error: BaseException, message: str) -> str:
    by_text = next((code for pattern, code in _BY_TEXT if re.search(pattern, message)), "")
    return by_text or next(code for kind, code in _BY_CLASS.items() if isinstance(error, kind))
