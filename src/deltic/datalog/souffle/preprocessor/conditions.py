"""The conditions of `#if` and `#elif`: integer expressions over macros."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from deltic.datalog.souffle.preprocessor.macros import Macro, MacroError, MacroToken, expand

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
