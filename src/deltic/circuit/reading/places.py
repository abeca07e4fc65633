"""Errors with their positions in the text of a circuit."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from lark import Token

from deltic.errors import Diagnostic, ProgramError

Position = tuple[int, int, int]


class TextPlaces:
    """A text, and the errors that point into it."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = text.splitlines()

    def error(self, place: Token | Position, message: str, hint: str = "") -> ProgramError:
        """An error at a token, or at a line, a column and a length; all count from 1."""
        line, column, length = _of_token(place) if isinstance(place, Token) else place
        source = self._lines[line - 1] if line <= len(self._lines) else ""
        return ProgramError([Diagnostic(message, self._file, line, column, source, length, hint)])

    def unknown(self, token: Token, what: str, known: Iterable[str]) -> ProgramError:
        """An error about an unknown name, with the nearest known one as a hint."""
        near = difflib.get_close_matches(token, list(known), 1)
        return self.error(token, f"there is no {what} `{token}`", f"did you mean `{near[0]}`?" if near else "")


def _of_token(token: Token) -> Position:
    return token.line or 1, token.column or 1, len(token.splitlines()[0])
