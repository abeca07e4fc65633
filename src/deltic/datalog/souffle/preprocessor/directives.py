"""The preprocessor's directives, which begin with `#`, and the conditions of `#if`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from deltic.datalog.souffle.preprocessor.macros import Macro, MacroError, MacroToken, define, expand
from deltic.errors import did_you_mean

_LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: bool(a) or bool(b)},
    {"&&": lambda a, b: bool(a) and bool(b)},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    {"<<": operator.lshift, ">>": operator.rshift},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: _quotient(a, b), "%": lambda a, b: a - b * _quotient(a, b)},
)
"""The binary operators, from the loosest to the tightest."""
_TIGHTNESS = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs}


def holds(tokens: Sequence[MacroToken], macros: Mapping[str, Macro], word: MacroToken) -> bool:
    """Return whether the condition after `#if` (the `word`) is not 0. Raises MacroError."""
    known = list(_with_defined([token for token in tokens if not token.is_blank], macros))
    return _Condition([token for token in expand(known, macros) if not token.is_blank], word).value() != 0


def _with_defined(tokens: Sequence[MacroToken], macros: Mapping[str, Macro]) -> Iterator[MacroToken]:
    """Yield the tokens of a condition, with `defined NAME` and `defined(NAME)` replaced by 1 or 0."""
    rest = iter(tokens)
    for token in rest:
        if token.text != "defined":
            yield token
            continue
        name = next(rest, token)
        if name.text == "(":
            name = next(rest, token)
            next(rest, None)
        yield replace(token, kind="number", text=str(int(name.text in macros)))


class _Condition:
    """Evaluates an integer expression by operator precedence."""

    def __init__(self, tokens: Sequence[MacroToken], word: MacroToken) -> None:
        self._tokens = iter(chain(tokens, [MacroToken("end", "", word.start, word.end)]))
        self._word = word
        self._next = next(self._tokens)

    def value(self) -> int:
        """Return the value of the expression."""
        result = self._binary(0)
        if self._next.kind != "end":
            raise self._error()
        return result

    def _binary(self, level: int) -> int:
        left = self._unary()
        while (result := _TIGHTNESS.get(self._next.text, -1)) >= level:
            sign = self._take()
            left = self._apply(sign, left, self._binary(result + 1))
        return left

    def _unary(self) -> int:
        token = self._take()
        match token.text:
            case "!":
                return int(not self._unary())
            case "-":
                return -self._unary()
            case "+":
                return self._unary()
            case "~":
                return ~self._unary()
            case "(":
                result = self._binary(0)
                if self._take().text != ")":
                    raise self._error()
                return result
        if token.kind == "word":
            return 0
        try:
            return int(token.text.rstrip("uUlL"), 0)
        except ValueError:
            raise self._error() from None

    def _apply(self, sign: MacroToken, left: int, right: int) -> int:
        try:
            return int(_LEVELS[_TIGHTNESS[sign.text]][sign.text](left, right))
        except (ZeroDivisionError, ValueError, OverflowError):  # shifts of negative numbers of bits, too
            raise MacroError(self._word, "this condition has no value") from None

    def _take(self) -> MacroToken:
        token, self._next = self._next, next(self._tokens, self._next)
        return token

    def _error(self) -> MacroError:
        return MacroError(self._word, "this condition cannot be read", "as in `#if defined(SMALL) && SIZE < 100`")


def _quotient(a: int, b: int) -> int:
    """Return the quotient truncated toward zero, as in C."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# Pragmas of compilers, and line markers of a preprocessor that ran before.
_IGNORED = ("pragma", "line", "warning", "ident")


@dataclass
class _Branch:
    """An open `#if` (the `word`): whether the current branch is active, and whether a branch was active before."""

    word: MacroToken
    is_read: bool
    was_read: bool
    has_else: bool = False


class Directives:
    """The state of the directives of one file; they define and remove `macros`."""

    def __init__(self, macros: dict[str, Macro]) -> None:
        self._macros = macros
        self._branches: list[_Branch] = []

    @property
    def is_read(self) -> bool:
        """Whether the following text is active under the conditions around it."""
        return not self._branches or self._branches[-1].is_read

    def do(self, sign: MacroToken, line: Sequence[MacroToken]) -> MacroToken | None:
        """Execute a directive; returns the name of a file to include, or the word `once`, else None.

        Raises MacroError.
        """
        word, *rest = [t for t in line if t.kind not in ("newline", "comment", "space")] or [sign]
        if word is sign or word.kind == "number":
            return None
        if word.text in _CONDITIONS:
            _CONDITIONS[word.text](self, word, rest)
        elif self.is_read and word.text in _OTHERS:
            return _OTHERS[word.text](self, word, [t for t in line[line.index(word) + 1 :] if t.kind != "newline"])
        elif self.is_read and word.text == "pragma" and [token.text for token in rest] == ["once"]:
            return word
        elif self.is_read and word.text not in _IGNORED:
            hint = did_you_mean(word.text, (*_CONDITIONS, *_OTHERS))
            raise MacroError(word, f"there is no preprocessor directive `#{word.text}`", hint)
        return None

    def unfinished(self) -> Iterator[MacroError]:
        """Yield the errors for conditions that are still open at the end of the file."""
        for branch in self._branches:
            yield MacroError(branch.word, f"this `#{branch.word.text}` does not end", "write `#endif`")

    def _if(self, word: MacroToken, rest: Sequence[MacroToken]) -> None:
        is_outer_read, branch = self.is_read, _Branch(word, is_read=False, was_read=True)
        self._branches.append(branch)
        if is_outer_read:
            branch.is_read = branch.was_read = self._holds(word, rest)

    def _holds(self, word: MacroToken, rest: Sequence[MacroToken]) -> bool:
        if word.text in ("if", "elif"):
            return holds(rest, self._macros, word)
        if not rest:
            raise MacroError(word, f"`#{word.text}` names a macro")
        return (rest[0].text in self._macros) == (word.text == "ifdef")

    def _elif(self, word: MacroToken, rest: Sequence[MacroToken]) -> None:
        branch = self._branch(word)
        branch.is_read = not branch.was_read and self._holds(word, rest)
        branch.was_read |= branch.is_read

    def _else(self, word: MacroToken, rest: Sequence[MacroToken]) -> None:
        branch = self._branch(word)
        branch.is_read, branch.was_read, branch.has_else = not branch.was_read, True, True

    def _endif(self, word: MacroToken, rest: Sequence[MacroToken]) -> None:
        self._branch(word)
        self._branches.pop()

    def _branch(self, word: MacroToken) -> _Branch:
        """Return the open `#if` that a directive continues; raises MacroError if there is none or after its `#else`."""
        if not self._branches or (self._branches[-1].has_else and word.text != "endif"):
            raise MacroError(word, f"there is no `#if` for this `#{word.text}`")
        return self._branches[-1]

    def _define(self, word: MacroToken, rest: Sequence[MacroToken]) -> None:
        name, macro = define(rest, word)
        self._macros[name] = macro

    def _undef(self, word: MacroToken, rest: Sequence[MacroToken]) -> None:
        for token in rest:
            self._macros.pop(token.text, None)

    def _include(self, word: MacroToken, rest: Sequence[MacroToken]) -> MacroToken:
        named = [token for token in expand(rest, self._macros) if not token.is_blank]
        text = "".join(token.text for token in named)
        if len(text) < 3 or (text[0], text[-1]) not in (('"', '"'), ("<", ">")):
            raise MacroError(word, "`#include` names a file in quotes", 'as in `#include "rules.dl"`')
        return MacroToken("string", text, named[0].start, named[-1].end)

    def _error(self, word: MacroToken, rest: Sequence[MacroToken]) -> None:
        raise MacroError(word, "".join(token.text for token in rest).strip() or "#error")


_CONDITIONS: Mapping[str, Callable[[Directives, MacroToken, Sequence[MacroToken]], None]] = {
    "if": Directives._if,
    "ifdef": Directives._if,
    "ifndef": Directives._if,
    "elif": Directives._elif,
    "else": Directives._else,
    "endif": Directives._endif,
}
_OTHERS: Mapping[str, Callable[[Directives, MacroToken, Sequence[MacroToken]], MacroToken | None]] = {
    "define": Directives._define,
    "undef": Directives._undef,
    "include": Directives._include,
    "error": Directives._error,
}
