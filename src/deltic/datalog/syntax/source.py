"""Positions in a program's text, and findings about them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from deltic.errors import Diagnostic


@dataclass(frozen=True, eq=False)
class ProgramText:
    """A text with its name for messages. Equality is identity."""

    file: str
    text: str

    def line(self, number: int) -> str:
        """Return the text of line `number`, counted from 1, without its line end; empty past the end of the text."""
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    @cached_property
    def _lines(self) -> list[str]:
        return [line.rstrip("\r") for line in self.text.split("\n")]

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of the first character of each line."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, start: int, end: int) -> Span:
        """Return the span between two offsets of the text."""
        line, end_line = bisect_right(self._starts, start), bisect_right(self._starts, end)
        return Span(self, line, start - self._starts[line - 1] + 1, end_line, end - self._starts[end_line - 1] + 1)

    def assembled(self, pieces: Sequence[tuple[str, TextPiece]]) -> ProgramText:
        """Return a text assembled from pieces, whose positions refer to their origins."""
        starts = list(accumulate((len(text) for text, _ in pieces), initial=0))
        return _Assembled(self.file, "".join(text for text, _ in pieces), starts, [piece for _, piece in pieces])


@dataclass(frozen=True)
class TextPiece:
    """The origin of a piece of text: a copy of `start` to `end` of a source, or produced from it by a macro."""

    source: ProgramText
    start: int
    end: int
    is_made: bool


@dataclass(frozen=True, eq=False)
class _Assembled(ProgramText):
    starts: Sequence[int]
    pieces: Sequence[TextPiece]

    def place(self, start: int, end: int) -> Span:
        if not self.pieces:
            return super().place(start, end)
        first, last = self._piece(start), self._piece(max(start, end - 1))
        piece, other = self.pieces[first], self.pieces[last]
        begin = piece.start if piece.is_made else piece.start + start - self.starts[first]
        until = other.end if other.is_made else other.start + end - self.starts[last]
        until = until if other.source is piece.source and until >= begin else piece.end
        return replace(piece.source.place(begin, until), inside=(start, end))

    def _piece(self, offset: int) -> int:
        return min(bisect_right(self.starts, offset), len(self.pieces)) - 1


@dataclass(frozen=True)
class Span:
    """A range of a source. Lines and columns count from 1; the end is just after the last character.

    Text that a macro produced has the position of the call, and is distinguished by its offsets `inside` the whole
    text.
    """

    source: ProgramText
    line: int
    column: int
    end_line: int
    end_column: int
    inside: tuple[int, int] | None = None

    @property
    def file(self) -> str:
        """The name of the source."""
        return self.source.file

    @property
    def place(self) -> str:
        """The start of the range, as in messages."""
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def text(self) -> str:
        """The text of the range, on one line."""
        lines = [self.source.line(number) for number in range(self.line, self.end_line + 1)]
        lines[-1] = lines[-1][: self.end_column - 1]
        lines[0] = lines[0][self.column - 1 :]
        return " ".join(line.strip() for line in lines)

    def error(self, message: str, hint: str = "") -> Diagnostic:
        """Return a finding about this range; only its first line is underlined."""
        text = self.source.line(self.line)
        end = self.end_column if self.end_line == self.line else len(text) + 1
        return Diagnostic(message, self.file, self.line, self.column, text, end - self.column, hint)


def in_order(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the findings by file (in order of first mention), line and column, without duplicates."""
    files = {name: rank for rank, name in reversed(list(enumerate(finding.file for finding in findings)))}
    return sorted(dict.fromkeys(findings), key=lambda finding: (files[finding.file], finding.line, finding.column))
