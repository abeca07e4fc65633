"""Finds the boundaries of statements without parsing."""

from __future__ import annotations

import re

# Text that may hide an end of statement, a directive (which begins a statement), and the dot that ends one.
_MARKS = re.compile(
    r"""
      //[^\n]* | /\*.*?(?:\*/|\Z) | "(?:\\.|[^"\\\n])*["\n]? | [0-9]+\.[0-9]+
    | (?P<begin> (?<![\w?)])\.[a-z_]+\b )
    | (?P<end> \.(?=\s|//|/\*|\Z) )
    """,
    re.VERBOSE | re.DOTALL,
)


def without_statement(text: str, position: int) -> str:
    """The text with the statement around `position` replaced by blanks, so that other positions stay the same.

    At least the character at `position` is blanked; at the end of the text, the last statement.
    """
    begin, end = _statement(text, position)
    blank = re.sub(r"[^\n]", " ", text[begin:end])
    return text[:begin] + blank + text[end:]


def _statement(text: str, position: int) -> tuple[int, int]:
    begin = 0
    for mark in _MARKS.finditer(text):
        if mark["begin"] and mark.start() <= position:
            begin = mark.start()
        elif mark["begin"]:
            return begin, mark.start()
        elif mark["end"] and mark.end() <= position:
            begin = mark.end()
        elif mark["end"]:
            return begin, mark.end()
    return begin, len(text)
