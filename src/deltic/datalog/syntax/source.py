"""Places in a program's text, and findings about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from deltic.errors import Diagnostic


@dataclass(frozen=True, eq=False)
class Source:
    """One text with the name by which messages call it. Two sources are the same only when they are one object."""

    file: str
    text: str

    def line(self, number: int) -> str:
        """The text of line `number`, counted from 1, without its line end; empty past the end of the text."""
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    @cached_property
    def _lines(self) -> list[str]:
        return [line.rstrip("\r") for line in self.text.split("\n")]


@dataclass(frozen=True)
class Span:
    """A stretch of a source. Lines and columns count from 1; the end is just behind the last character."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def file(self) -> str:
        """The name of the source."""
        return self.source.file

    @property
    def place(self) -> str:
        """Where the stretch begins, as messages say it."""
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def text(self) -> str:
        """The stretch itself, on one line."""
        lines = [self.source.line(number) for number in range(self.line, self.end_line + 1)]
        lines[-1] = lines[-1][: self.end_column - 1]
        lines[0] = lines[0][self.column - 1 :]
        return " ".join(line.strip() for line in lines)

    def error(self, message: str, hint: str = "") -> Diagnostic:
        """A finding about this stretch; what lies on further lines is not underlined."""
        text = self.source.line(self.line)
        end = self.end_column if self.end_line == self.line else len(text) + 1
        return Diagnostic(message, self.file, self.line, self.column, text, end - self.column, hint)


def in_order(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings by file (in order of first mention), line and column, each told once."""
    files = {name: rank for rank, name in reversed(list(enumerate(finding.file for finding in findings)))}
    return sorted(dict.fromkeys(findings), key=lambda finding: (files[finding.file], finding.line, finding.column))
