"""The text of SQL statements, and messages that show the place in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from deltic.errors import Diagnostic, ProgramError

BUILT_IN = "<built in>"
"""The file of what defines functions of SQL itself, where no message points to."""
_OPENING = re.compile(r"\s*\(")
_CALLED = re.compile(r"\w+\s*\(\s*$")


@dataclass(frozen=True)
class SourceText:
    """What was written, and what messages call it. Nodes that were parsed from it carry their offsets in it."""

    text: str
    file: str = "<sql>"

    def error(self, node: exp.Expression | None, message: str, hint: str = "") -> ProgramError:
        """Return the error about a node, with its place."""
        return ProgramError([self.diagnostic(node, message, hint)])

    def diagnostic(self, node: exp.Expression | None, message: str, hint: str = "") -> Diagnostic:
        """Return the finding about a node, with its place: what is around a node without one, or where the text
        begins.
        """
        span = self._around(node)
        if span is None and (self.file == BUILT_IN or not self.text.strip()):
            return Diagnostic(message, self.file, hint=hint)
        return self.at(*(span or self._beginning()), message, hint)

    def at(self, start: int, end: int, message: str, hint: str = "") -> Diagnostic:
        """Return the finding about the characters from offset `start` up to, but not, `end`."""
        line = self.text.count("\n", 0, start) + 1
        first = self.text.rfind("\n", 0, start) + 1
        source = self.text[first:].partition("\n")[0].rstrip("\r")
        length = max(1, min(end, first + len(source)) - start)
        return Diagnostic(message, self.file, line, start - first + 1, source, length, hint)

    def written(self, node: exp.Expression) -> str:
        """Return the node as it was written, or as sqlglot writes it where it has no place."""
        span = self.span(node)
        return node.sql(dialect="spark").replace("\0", "") if span is None else self.text[span[0] : span[1]]

    def _around(self, node: exp.Expr | None) -> tuple[int, int] | None:
        """Return the offsets of a node, or of the nearest one around it that has some."""
        while isinstance(node, exp.Expression):
            if (span := self.span(node)) is not None:
                return span
            node = node.parent
        return None

    def _beginning(self) -> tuple[int, int]:
        """Return the offsets of the first word."""
        word = re.search(r"\S+", self.text)
        assert word is not None
        return word.span()

    def span(self, node: exp.Expression) -> tuple[int, int] | None:
        """Return the offsets of a node's first character and after its last, with its function's name and
        parentheses.
        """
        span = span_of(node)
        if span is None:
            return None
        start, end = span
        is_call = isinstance(node, exp.Func) and not isinstance(node, exp.Connector)
        if is_call and (called := _CALLED.search(self.text, 0, start)):
            start = called.start()
        if is_call and (opened := _OPENING.match(self.text, end)):
            end = _after_closing(self.text, opened.end())
        for _ in range(self.text.count("(", start, end) - self.text.count(")", start, end)):
            end = _after_closing(self.text, end)
        names = tuple(name for part in node.find_all(exp.Func) for name in part.sql_names())
        for _ in range(_unopened(self.text[start:end])):
            opening = max(self.text.rfind("(", 0, start), 0)
            called = _CALLED.search(self.text, 0, opening + 1)
            word = called[0].rstrip("( \n\t").upper() if called else ""
            start = called.start() if called and any(name.endswith(word) for name in names) else opening
        return start, end


def _after_closing(text: str, start: int) -> int:
    """Return where a parenthesis ends that is open at an offset; the offset itself where none closes it."""
    depth = 1
    for offset in range(start, len(text)):
        depth += (text[offset] == "(") - (text[offset] == ")")
        if not depth:
            return offset + 1
    return start


def _unopened(text: str) -> int:
    """Return how many parentheses are closed in a text before they are opened."""
    depth = least = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        least = min(least, depth)
    return -least


def span_of(node: exp.Expression) -> tuple[int, int] | None:
    """Return the offsets that the tokens of a node span, the second after the last; None where none is known.

    Only names, literals and some functions have places in the tree.
    """
    metas = [n.meta for n in node.walk() if n._meta and "start" in n._meta]
    if not metas:
        return None
    return min(m["start"] for m in metas), max(m["end"] for m in metas) + 1
