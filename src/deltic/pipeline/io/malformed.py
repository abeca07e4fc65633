"""The error about a malformed row of a file."""

from __future__ import annotations

from deltic.errors import Diagnostic


class Malformed(Exception):
    """A row does not fit its relation. `column` counts characters from 1, and is 0 if unknown."""

    def __init__(self, reason: str, column: int = 0, length: int = 1, hint: str = "") -> None:
        super().__init__(reason)
        self.reason, self.column, self.length, self.hint = reason, column, length, hint

    def at(self, file: str, line: int, text: str) -> Diagnostic:
        """Return the finding, once the file and the line are known."""
        return Diagnostic(self.reason, file, line, self.column, text, self.length, self.hint)
