"""The tokens of PostgreSQL's SQL.

sqlglot's tokenizer is not used for this: it takes the `$1,$` of `VALUES ($1,$2)` for the begin of a dollar-quoted text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from deltic.server.postgres.errors import PostgresError

Kind = Literal["word", "name", "string", "bits", "parameter", "number", "operator"]

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*)
    |   (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')
    |   (?P<bits>[xXbB]'[^']*')
    |   (?P<string>[nN]?'(?:[^']|'')*')
    |   (?P<dollar>\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)
    |   (?P<parameter>\$\d+)
    |   (?P<name>"(?:[^"]|"")+"|`(?:[^`]|``)+`)
    |   (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |   (?P<word>[^\W\d][\w$]*)
    |   (?P<operator>::|'|"|`|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)|''", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class SqlToken:
    """What stands from `start` up to, but not, `end`; `text` is without quotes."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The text, in upper case where it is not quoted."""
        return self.text.upper() if self.kind == "word" else self.text


def tokens(text: str) -> Iterator[SqlToken]:
    """Yield the tokens of a text, without comments. Raises PostgresError if one has no end."""
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None
        position = match.end()
        if match[0] == "/*":
            position = _behind_comment(text, match.start())
        elif match.lastgroup != "space":
            yield _token(match)


def _token(match: re.Match[str]) -> SqlToken:
    place = match.start(), match.end()
    match match.lastgroup, match[0]:
        case "escaped", written:
            return SqlToken("string", _ESCAPE.sub(_unescaped, written[2:-1]), *place)
        case "string", written:
            return SqlToken("string", written[written.index("'") + 1 : -1].replace("''", "'"), *place)
        case "dollar", written:
            quotes = len(match["tag"]) + 2
            return SqlToken("string", written[quotes:-quotes], *place)
        case "parameter", written:
            return SqlToken("parameter", written[1:], *place)
        case "name", written:
            return SqlToken("name", written[1:-1].replace(written[0] * 2, written[0]), *place)
        case "operator", ("'" | '"' | "`") as quote:
            raise PostgresError("42601", f"this is not closed: {quote} is missing", position=place[0] + 1)
        case ("bits" | "number" | "word" | "operator") as kind, written:
            return SqlToken(kind, written, *place)
    raise AssertionError(match)


def _unescaped(match: re.Match[str]) -> str:
    return "'" if match[1] is None else letter_of(match[1], _ESCAPES)


def letter_of(written: str, letters: Mapping[str, str]) -> str:
    """Return the letter that stands after a backslash: by its number to base 16 or 8, by its name, or itself."""
    if written[0] in "uUx" and len(written) > 1:
        return chr(int(written[1:], 16))
    return chr(int(written, 8)) if written[0] in "01234567" else letters.get(written, written)


def _behind_comment(text: str, start: int) -> int:
    """Return the end of a comment, in which others may be."""
    depth = 0
    for match in _COMMENT.finditer(text, start):
        depth += 1 if match[0] == "/*" else -1
        if not depth:
            return match.end()
    raise PostgresError("42601", "this comment is not closed", position=start + 1)
