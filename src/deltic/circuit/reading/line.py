"""The parsed text of one node, as input of the reader of its operator, and errors with their positions in it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lark import Token
from sqlglot import exp

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.graph import Circuit
from deltic.circuit.reading.scalars import parse_expression
from deltic.errors import Diagnostic, ProgramError
from deltic.values.words import unquoted

Position = tuple[int, int, int]


class TextPlaces:
    """A text, and the errors that point into it."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = text.splitlines()

    def error(self, place: Token | Position, message: str, hint: str = "") -> ProgramError:
        """Return an error at a token, or at a line, a column and a length; all count from 1."""
        if isinstance(place, Token):
            place = place.line or 1, place.column or 1, len(place.splitlines()[0])
        line, column, length = place
        source = self._lines[line - 1] if line <= len(self._lines) else ""
        return ProgramError([Diagnostic(message, self._file, line, column, source, length, hint)])

    def unknown(self, token: Token, what: str, known: Iterable[str]) -> ProgramError:
        """Return an error about an unknown name, with the nearest known one as a hint."""
        near = difflib.get_close_matches(token, list(known), 1)
        return self.error(token, f"there is no {what} `{token}`", f"did you mean `{near[0]}`?" if near else "")


@dataclass(frozen=True)
class NodeLine:
    """The parsed text of one node."""

    keyword: Token
    arguments: Token | None
    rest: Sequence[Token]
    inputs: Sequence[EdgeType]
    type: EdgeType
    bodies: dict[str, Circuit]
    depth: int
    places: TextPlaces

    def error(self, message: str) -> ProgramError:
        """Return an error at the arguments, or at the keyword where there are none."""
        return self.places.error(self.arguments or self.keyword, message)

    @property
    def zset(self) -> ZSetType:
        """The declared type; raises ProgramError unless it is a Z-set."""
        if not isinstance(self.type, ZSetType):
            raise self.places.error(self.keyword, f"{self.keyword} puts out a Z-set, not {self.type}")
        return self.type

    @property
    def input_columns(self) -> tuple[str, ...]:
        """The columns that its expressions may read."""
        return self.inputs[0].schema.names if self.inputs and isinstance(self.inputs[0], ZSetType) else ()

    def argument(self, kind: str, more: bool = False) -> str:
        """Its argument, of kind NAME, BRACKETS or ROWS; raises ProgramError if more words follow, unless `more`."""
        if self.rest and not more:
            raise self.places.error(self.rest[0], f"{self.keyword} takes one argument")
        if self.arguments is None or (
            self.arguments.type != kind and (kind, self.arguments.type) != ("NAME", "QUOTED")
        ):
            wanted = {"NAME": "a name", "BRACKETS": "expressions in [brackets]", "ROWS": "rows in {braces}"}[kind]
            raise self.error(f"{self.keyword} takes {wanted}")
        return unquoted(self.arguments) if kind == "NAME" else str(self.arguments)

    def outer(self, named: bool = False) -> int:
        """Return the number after `outer` in the arguments, or if the first is a name in the rest; 0 by default."""
        words = [*([] if named or self.arguments is None else [self.arguments]), *self.rest]
        match [*map(str, words)]:
            case []:
                return 0
            case ["outer", number] if number.isdecimal():
                return int(number)
        raise self.places.error(words[0], f"{self.keyword} takes `outer` and a number here, or nothing")

    def body(self, label: str) -> Circuit:
        """Return the nested circuit with that label."""
        if label not in self.bodies:
            raise self.places.error(self.keyword, f"{self.keyword} needs a {label} {{ ... }} after its line")
        return self.bodies[label]

    def expression(self, text: str) -> exp.Expression:
        """Return an expression over the columns of the input."""
        try:
            return parse_expression(text, self.input_columns)
        except ValueError as error:
            raise self.error(f"{self.keyword}: {error}") from None
