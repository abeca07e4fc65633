"""ECMAScript regular expressions with the semantics of C++, for Soufflé's `match`.

A pattern is translated to syntax that has the same meaning in Python's `re` and in RE2: character classes become
ranges, and characters other than letters and digits become codes. RE2 matches columns of texts. Python matches single
texts, and patterns that RE2 does not support: look-ahead, back-references, more than a thousand repetitions. Both match
whole texts, character by character.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from deltic.functions.function import Function, provide
from deltic.lazy import pa, pc
from deltic.values.types import Type

Ranges = tuple[tuple[int, int], ...]
"""A set of characters, as ranges of first and last codes."""

_LAST = 0x10FFFF
_DIGITS: Ranges = ((0x30, 0x39),)
_WORDS: Ranges = (*_DIGITS, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACES: Ranges = ((0x09, 0x0D), (0x20, 0x20))
_CLASSES: dict[str, Ranges] = {"d": _DIGITS, "w": _WORDS, "s": _SPACES}
_NAMED: dict[str, Ranges] = {
    **_CLASSES,
    "digit": _DIGITS,
    "space": _SPACES,
    "alnum": (*_DIGITS, (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "upper": ((0x41, 0x5A),),
    "xdigit": (*_DIGITS, (0x41, 0x46), (0x61, 0x66)),
}
_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D))
_CONTROLS = {"0": 0x00, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_NUMBER, _REFERENCE = re.compile("[0-9]{1,9}"), re.compile("[1-9][0-9]*")
_CODES = {"x": re.compile("[0-9A-Fa-f]{2}"), "u": re.compile("[0-9A-Fa-f]{4}")}
_NAME, _SINGLE = re.compile(r"\[:(.*?):\]", re.DOTALL), re.compile(r"\[([.=])(.)\1\]", re.DOTALL)
_FEW = 16
"""The number of texts up to which Python is faster than RE2's start."""


class PatternError(ValueError):
    """The reason why a text is not a regular expression."""


@dataclass(frozen=True)
class RegexPattern:
    """A regular expression for Python, and for RE2 if RE2 supports it."""

    python: re.Pattern[str]
    re2: str | None


@lru_cache(maxsize=1024)
def pattern_of(text: str) -> RegexPattern:
    """Compile a regular expression; raises PatternError if the text is none."""
    reader = _Reader(text)
    try:
        written = reader.whole()
        python = re.compile(written.replace(r"\B", r"(?!\b)"), re.ASCII)  # before 3.14, \B is not in the empty text
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None
    re2 = rf"\A(?:{written})\z".replace(r"\Z", r"\z")
    return RegexPattern(python, re2 if reader.is_regular and _is_known_to_re2(re2) else None)


def _is_known_to_re2(pattern: str) -> bool:
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid:
        return False
    return True


class _Reader:
    """A parser of patterns; each method returns the translation of what it parses."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0
        self._groups, self._open = 0, list[int]()
        self.is_regular = True
        """Whether it has neither look-ahead nor back-references."""

    def whole(self) -> str:
        """Parse the whole pattern."""
        written = self._disjunction()
        if self._place < len(self._text):
            self._fail("unmatched )" if self._is_at(")") else f"nothing to repeat before {self._text[self._place]}")
        return written

    def _disjunction(self) -> str:
        alternatives = [self._alternative()]
        while self._takes("|"):
            alternatives.append(self._alternative())
        return "|".join(alternatives)

    def _alternative(self) -> str:
        terms = []
        while self._place < len(self._text) and self._text[self._place] not in "|)*+?{":
            terms.append(self._assertion() or self._repeated(self._atom()))
        return "".join(terms)

    def _assertion(self) -> str:
        """Parse an assertion, which has no length and cannot be repeated; "" if there is none."""
        for sign, written in (("^", r"\A"), ("$", r"\Z"), ("\\b", r"\b"), ("\\B", r"\B")):
            if self._takes(sign):
                return written
        for sign in ("(?=", "(?!"):
            if self._takes(sign):
                self.is_regular = False
                return sign + self._closed(self._disjunction())
        return ""

    def _atom(self) -> str:
        if self._takes("(?:"):
            return "(?:" + self._closed(self._disjunction())
        if self._is_at("(?"):
            self._fail("a group begins with (, (?:, (?= or (?!")
        if self._takes("("):
            self._groups += 1
            self._open.append(self._groups)
            written = "(" + self._closed(self._disjunction())
            self._open.pop()
            return written
        if self._takes("."):
            return _set(_without(_LINE_ENDS))
        if self._takes("["):
            return self._bracket()
        if self._takes("\\"):
            return self._escape()
        return _character(ord(self._take()))

    def _closed(self, inside: str) -> str:
        if not self._takes(")"):
            self._fail("missing )")
        return inside + ")"

    def _repeated(self, atom: str) -> str:
        """Return an atom with all following repetition operators, each applied to what precedes it."""
        while (times := self._times()) is not None:
            lazy = "?" if self._takes("?") else ""
            atom = f"(?:{atom}){times}{lazy}"
        return atom

    def _times(self) -> str | None:
        for sign in "*+?":
            if self._takes(sign):
                return sign
        if not self._takes("{"):
            return None
        least, is_open = self._number(), self._takes(",")
        most = self._number() if is_open and not self._is_at("}") else None if is_open else least
        if not self._takes("}"):
            self._fail("a repetition is written {n}, {n,} or {n,m}")
        if most is not None and most < least:
            self._fail(f"a repetition of {least} to {most} times")
        return f"{{{least},{'' if most is None else most}}}"

    def _number(self) -> int:
        if (result := self._next(_NUMBER)) is None:
            self._fail("a repetition is written {n}, {n,} or {n,m}")
        return int(result[0])

    def _escape(self) -> str:
        """Parse what follows a backslash outside of brackets."""
        if self._text[self._place : self._place + 1].lower() in _CLASSES:
            return _set(self._quoted_class())
        if (result := self._next(_REFERENCE)) is None:
            return _character(self._escaped())
        if int(result[0]) > self._groups or int(result[0]) in self._open:
            self._fail(f"\\{result[0]} is about a group that has not ended")
        self.is_regular = False
        return f"(?:\\{result[0]})"

    def _quoted_class(self) -> Ranges:
        letter = self._take()
        ranges = _CLASSES[letter.lower()]
        return ranges if letter.islower() else _without(ranges)

    def _escaped(self) -> int:
        """Return the code of the character that an escape denotes."""
        sign = self._take()
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign == "c":
            return ord(self._take()) % 32
        if sign in "xu":
            result = self._next(_CODES[sign])
            if result is None or 0xD800 <= int(result[0], 16) < 0xE000:
                self._fail(f"\\{sign} without the code of a character")
            return int(result[0], 16)
        return ord(sign)

    def _bracket(self) -> str:
        """Parse a bracket expression after its opening bracket."""
        is_negated = self._takes("^")
        ranges: list[tuple[int, int]] = []
        while not self._takes("]"):
            member = self._member()
            if self._is_at("-") and not self._is_at("-]"):
                if isinstance(member, int):
                    member = self._range(member)
                else:
                    self._fail("a range begins with a character")
            ranges += member if isinstance(member, tuple) else ((member, member),)
        return _set(_without(tuple(ranges)) if is_negated else tuple(ranges))

    def _range(self, first: int) -> Ranges:
        self._takes("-")
        last = self._member()
        if not isinstance(last, int):
            self._fail("a range ends with a character")
        if last < first:
            self._fail(f"a range from {chr(first)} to {chr(last)}")
        return ((first, last),)

    def _member(self) -> int | Ranges:
        """Parse a character or a class in brackets."""
        if result := self._next(_NAME):
            if result[1].lower() not in _NAMED:
                self._fail(f"there is no class {result[0]}")
            return _NAMED[result[1].lower()]
        if result := self._next(_SINGLE):
            return ord(result[2])
        if any(self._is_at(begin) for begin in ("[:", "[.", "[=")):
            self._fail(f"{self._text[self._place : self._place + 2]} without an end")
        if not self._takes("\\"):
            return ord(self._take())
        if self._text[self._place : self._place + 1].lower() in _CLASSES:
            return self._quoted_class()
        if self._next(_REFERENCE) or self._takes("B"):
            self._fail(f"\\{self._text[self._place - 1]} in brackets")
        return 0x08 if self._takes("b") else self._escaped()

    def _is_at(self, sign: str) -> bool:
        return self._text.startswith(sign, self._place)

    def _takes(self, sign: str) -> bool:
        """Skip a token if it comes next; returns whether it did."""
        result = self._is_at(sign)
        self._place += len(sign) * result
        return result

    def _next(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern at the current position and skip the match."""
        result = pattern.match(self._text, self._place)
        self._place = result.end() if result else self._place
        return result

    def _take(self) -> str:
        if self._place == len(self._text):
            self._fail("it ends too early")
        self._place += 1
        return self._text[self._place - 1]

    def _fail(self, reason: str) -> NoReturn:
        raise PatternError(reason)


def _without(ranges: Ranges) -> Ranges:
    """Return the complement of a set of characters."""
    result, begin = [], 0
    for first, last in sorted(ranges):
        if first > begin:
            result.append((begin, first - 1))
        begin = max(begin, last + 1)
    return (*result, (begin, _LAST)) if begin <= _LAST else tuple(result)


def _set(ranges: Ranges) -> str:
    """Return the translation of a set of characters; an empty set matches nothing."""
    if not ranges:
        return f"[^{_character(0)}-{chr(_LAST)}]"
    return "[" + "".join(f"{_character(first)}-{_character(last)}" for first, last in ranges) + "]"


def _character(code: int) -> str:
    return chr(code) if chr(code).isalnum() or code > 0x7F else f"\\x{code:02x}"


def _matches(pattern: str, text: str) -> bool | None:
    """Return whether a pattern matches a text; None if the pattern is invalid."""
    try:
        return pattern_of(pattern).python.fullmatch(text) is not None
    except PatternError:
        return None


def _columns_matched(operands: Sequence[pa.Array], count: int) -> Any:
    """Match a column of texts by RE2; None for several patterns, or for few texts."""
    patterns, texts = operands
    if count < _FEW or pc.count_distinct(patterns).as_py() != 1:
        return None
    try:
        re2 = pattern_of(patterns[0].as_py()).re2
    except PatternError:
        return None
    return None if re2 is None else pc.match_substring_regex(texts, re2)


provide({"match": Function(Type.BOOLEAN, python=_matches, columns=_columns_matched, tolerant=True)})
