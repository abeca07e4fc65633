r"""Comments and strings, which nest, before the grammar reads a text.

Comments become blank. A string keeps its length: `"a ${x} b"` becomes a character for its begin, one for each character
of its text, those around each expression, and the expression itself as it is.
"""

from __future__ import annotations

import re

from deltic.datalog.syntax.source import ProgramText
from deltic.errors import ProgramError
from deltic_ddlog.runtime import ESCAPED

START, TEXT, OPEN, CLOSE = "\x01\x02\x03\x04"
"""The characters for a string's begin, its text, and the signs around an expression."""

_SIGNS = dict.fromkeys(map(ord, (START, TEXT, OPEN, CLOSE)), "\0")
_CODE = re.compile(r'//[^\n]*|/\*|\\"|"|\$?\[\||[{}]')
_COMMENT_MARK = re.compile(r"/\*|\*/")
_ESCAPE = r"\\(?:u\{(?P<point>[0-9a-fA-F]+)\}|x(?P<byte>[0-9a-fA-F]{2})|(?P<gap>\s+)\\|(?P<letter>.))"
_STRINGS = {
    '"': re.compile(rf'(?P<end>")|(?P<open>\$\{{)|{_ESCAPE}|[^"$\\]+|.', re.DOTALL),
    r"\"": re.compile(rf'(?P<end>\\")|(?P<open>\$\{{)|(?:\\\\(?=\\)|\\(?=\\))?{_ESCAPE}|[^$\\]+|.', re.DOTALL),
    "$[|": re.compile(r"(?P<end>\|\])|(?P<open>\$\{)|[^|$]+|.", re.DOTALL),
    "[|": re.compile(r"(?P<end>\|\])|[^|]+|.", re.DOTALL),
}
r"""What a string has, by its begin: in an expression in a string, `\"` begins one whose escapes are written twice."""


class Literals:
    """A text for the grammar, and the texts of strings by the offsets at which their pieces begin."""

    def __init__(self, source: ProgramText) -> None:
        self.texts = dict[int, str]()
        self._source = source
        self._pieces = list[str]()
        self._code(0, None)
        self.masked = "".join(self._pieces)

    def _error(self, start: int, end: int, message: str, hint: str = "") -> ProgramError:
        return ProgramError([self._source.place(start, end).error(message, hint)])

    def _code(self, at: int, opened: int | None) -> int:
        """Read on up to the end, or to the brace that ends an expression in a string."""
        text, depth = self._source.text, 0
        while mark := _CODE.search(text, at):
            self._pieces.append(text[at : mark.start()].translate(_SIGNS))
            sign, at = mark[0], mark.end()
            if sign.startswith("/"):
                at = at if sign.startswith("//") else self._comment_end(mark.start())
                self._pieces.append(" " * (at - mark.start()))
            elif sign in "{}":
                depth += 1 if sign == "{" else -1
                if depth < 0 and opened is not None:
                    self._pieces.append(CLOSE)
                    return at
                self._pieces.append(sign)
            else:
                at = self._string(mark.start(), sign)
        if opened is not None:
            raise self._error(opened, opened + 2, "this expression in a string has no end", "close it by `}`")
        self._pieces.append(text[at:].translate(_SIGNS))
        return len(text)

    def _comment_end(self, start: int) -> int:
        depth = 0
        for mark in _COMMENT_MARK.finditer(self._source.text, start):
            depth += 1 if mark[0] == "/*" else -1
            if depth == 0:
                return mark.end()
        raise self._error(start, start + 2, "this comment has no end", "close it by `*/`; comments nest")

    def _string(self, start: int, opening: str) -> int:
        begin, at, texts = start, start + len(opening), list[str]()
        while part := _STRINGS[opening].match(self._source.text, at):
            groups, at = part.groupdict(), part.end()
            is_open = groups.get("open") is not None
            if is_open or groups["end"]:
                self.texts[begin] = "".join(texts)
                length = (part.start() if is_open else at) - begin
                self._pieces.append((START if begin == start else TEXT)[:length] + TEXT * (length - 1))
                if not is_open:
                    return at
                self._pieces.append(OPEN * 2)
                begin, texts = (at := self._code(at, part.start())), []
            else:
                texts.append(self._said(part))
        end, sign = start + (1 if opening.endswith('"') else len(opening)), _closing(opening)
        raise self._error(start, end, "this string has no end", f"close it by `{sign}`")

    def _said(self, part: re.Match[str]) -> str:
        """Return the text of a piece of a string."""
        if part[0] == "\\" and "letter" in part.re.groupindex:
            raise self._error(part.start(), part.end(), "this escape says nothing", r"write `\\` for a backslash")
        groups = part.groupdict()
        if code := groups.get("point") or groups.get("byte"):
            point = int(code, 16)
            if point > 0x10FFFF or 0xD800 <= point < 0xE000:
                raise self._error(part.start(), part.end(), "there is no such character in Unicode")
            return chr(point)
        letter = groups.get("letter")
        return "" if groups.get("gap") else ESCAPED.get(letter, letter) if letter else part[0]


def _closing(opening: str) -> str:
    return '"' if opening.endswith('"') else "|]"
