"""Text to tokens.

What a character means depends on where it stands: `'` begins a type variable or a number, and differentiates a
relation; `.` ends a rule, or leads to a field, or is part of a number; a string holds expressions, which hold strings.
So tokens are made by hand, and not by the tables of a lexer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from deltic.datalog.syntax.source import ProgramText
from deltic.errors import Diagnostic, ProgramError

LIT, NAME, TYPE_VARIABLE, INT, FLOAT, OPERATOR, END = (
    "string",
    "name",
    "type variable",
    "int",
    "float",
    "operator",
    "end",
)


@dataclass(frozen=True)
class Token:
    """A piece of the text, from `start` to `end`.

    `text` is what it says: of a string that which stands between its expressions is in `parts`, beside the tokens of
    these. `value` is that of a number.
    """

    kind: str
    text: str
    start: int
    end: int
    value: int | float = 0
    width: int | None = None
    signed: bool = False
    parts: tuple[str | tuple[Token, ...], ...] = ()


_SPACE = re.compile(r"(?:\s+|//[^\n]*)+")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_NAME = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*", re.ASCII)
_BASED = re.compile(r"([0-9][0-9_]*)?'(s?)(?:d(-?[0-9_]+)|h([0-9a-fA-F_]+)|o([0-7_]+)|b([01_]+))(?!\w)", re.ASCII)
_REAL = re.compile(r"(?:(32|64)'f)?([0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))(?!\w)", re.ASCII)
_PREFIXED = re.compile(r"0(?:x([0-9a-fA-F_]+)|o([0-7_]+)|b([01_]+))(?!\w)", re.ASCII)
_DECIMAL = re.compile(r"[0-9][0-9_]*(?!\w)", re.ASCII)
_TYPE_VARIABLE = re.compile(r"'([A-Z]\w*)", re.ASCII)
# `>` stands alone: it may end a type.
_OPERATOR = re.compile(r":-|=>|==|!=|<=|<<|\+\+|->|<-|\|\||[-+*/%&|^~=<>.,;:(){}\[\]@?#']")
_STRINGS = {'"': '"', r"\"": r"\"", "[|": "|]", "$[|": "|]"}
"""How strings begin and end. Those in `[|` have no expressions."""
_OPENINGS = tuple(_STRINGS)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|(\s+)\\|(.))", re.DOTALL)


def tokens(source: ProgramText) -> list[Token]:
    """The tokens of a text, the last of which is its end. Raises ProgramError where a character begins none."""
    return list(_Lexer(source).until_end(0, None))


class _Lexer:
    """A text that is being split into tokens."""

    def __init__(self, source: ProgramText) -> None:
        self.source = source
        self.text = source.text

    def error(self, start: int, end: int, message: str, hint: str = "") -> ProgramError:
        return ProgramError([self.finding(start, end, message, hint)])

    def finding(self, start: int, end: int, message: str, hint: str = "") -> Diagnostic:
        return self.source.place(start, end).error(message, hint)

    def until_end(self, start: int, opened: int | None) -> Iterator[Token]:
        """The tokens from `start` on: all of them, or those up to the brace that ends an expression in a string."""
        depth, before = 0, None
        while (start := self._behind_space(start)) < len(self.text):
            token = self._token(start, before)
            if token.text == "{" and token.kind == OPERATOR:
                depth += 1
            elif token.text == "}" and token.kind == OPERATOR:
                if depth == 0 and opened is not None:
                    yield Token(END, "}", token.start, token.end)
                    return
                depth -= 1
            yield token
            start, before = token.end, token
        if opened is not None:
            raise self.error(opened, opened + 2, "this expression in a string has no end", "close it by `}`")
        yield Token(END, "", start, start)

    def _behind_space(self, start: int) -> int:
        """Where the next token begins: comments nest."""
        while True:
            if space := _SPACE.match(self.text, start):
                start = space.end()
            if not self.text.startswith("/*", start):
                return start
            start = self._behind_comment(start)

    def _behind_comment(self, start: int) -> int:
        depth = 0
        for mark in _COMMENT_MARK.finditer(self.text, start):
            depth += 1 if mark[0] == "/*" else -1
            if depth == 0:
                return mark.end()
        raise self.error(start, start + 2, "this comment has no end", "close it by `*/`; comments nest")

    def _token(self, start: int, before: Token | None) -> Token:
        text = self.text
        if text.startswith(_OPENINGS, start):
            return self._string(start)
        adjacent = before is not None and before.end == start
        if text[start].isdigit() or text[start] == "'":
            behind_dot = adjacent and before is not None and before.text == "."
            primed = adjacent and before is not None and before.kind == NAME
            if not (primed and text[start] == "'") and (number := self._number(start, behind_dot)):
                return number
            if not primed and (variable := _TYPE_VARIABLE.match(text, start)):
                return Token(TYPE_VARIABLE, variable[1], start, variable.end())
        if name := _NAME.match(text, start):
            return Token(NAME, name[0], start, name.end())
        if operator := _OPERATOR.match(text, start):
            return Token(OPERATOR, operator[0], start, operator.end())
        raise self.error(start, start + 1, f"`{text[start]}` begins nothing that DDlog knows")

    def _number(self, start: int, behind_dot: bool) -> Token | None:
        text = self.text
        if not behind_dot and (real := _REAL.match(text, start)):
            bits = int(real[1]) if real[1] else None
            return Token(FLOAT, real[0], start, real.end(), float(real[2]), bits)
        if based := _BASED.match(text, start):
            width, signed, *digits = based.groups()
            value = _of_digits(digits)
            return Token(INT, based[0], start, based.end(), value, int(width) if width else None, bool(signed))
        if prefixed := _PREFIXED.match(text, start):
            return Token(INT, prefixed[0], start, prefixed.end(), _of_digits([None, *prefixed.groups()]))
        if decimal := _DECIMAL.match(text, start):
            return Token(INT, decimal[0], start, decimal.end(), int(decimal[0]))
        return None

    def _string(self, start: int) -> Token:
        r"""A string; those in quotes have escapes, those in an expression of such a string may be in `\"`."""
        opening = next(each for each in _OPENINGS if self.text.startswith(each, start))
        has_escapes, closing = opening.endswith('"'), _STRINGS[opening]
        parts, texts, at = list[str | tuple[Token, ...]](), list[str](), start + len(opening)
        while at < len(self.text):
            if self.text.startswith(closing, at):
                return Token(LIT, "", start, at + len(closing), parts=(*parts, "".join(texts)))
            if opening != "[|" and self.text.startswith("${", at):
                inside = tuple(self.until_end(at + 2, at))
                parts += ["".join(texts), inside]
                texts, at = [], inside[-1].end
            elif has_escapes and self.text[at] == "\\":
                is_twice = len(opening) > 1 and self.text.startswith(r"\\", at)
                said, at = self._escape(at + is_twice + (is_twice and self.text.startswith("\\", at + 2)))
                texts.append(said)
            else:
                texts.append(self.text[at])
                at += 1
        end, sign = start + (1 if has_escapes else len(opening)), closing.removeprefix("\\")
        raise self.error(start, end, "this string has no end", f"close it by `{sign}`")

    def _escape(self, start: int) -> tuple[str, int]:
        """The character of an escape sequence, and where it ends."""
        result = _ESCAPE.match(self.text, start)
        if not result:
            raise self.error(start, start + 1, "this escape says nothing", r"write `\\` for a backslash")
        code, byte, gap, letter = result.groups()
        if code or byte:
            point = int(code or byte, 16)
            if point > 0x10FFFF or 0xD800 <= point < 0xE000:
                raise self.error(start, result.end(), "there is no such character in Unicode")
            return chr(point), result.end()
        return "" if gap else _ESCAPES.get(letter, letter), result.end()


def _of_digits(digits: list[str | None]) -> int:
    """The number whose digits are given in base 10, 16, 8 or 2."""
    for text, base in zip(digits, (10, 16, 8, 2), strict=True):
        if text:
            return int(text.replace("_", "") or "0", base)
    return 0
