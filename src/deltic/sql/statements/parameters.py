"""Parameters of statements: `:name` and `?` stand for Python values, and become the tokens of literals; and literals
as parameters, so that texts that differ in their literals alone have one plan.

A value never becomes text that is read as SQL: a text is the content of one token, whatever it contains. The tokens
have the place of the parameter, so that messages show it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import Token, TokenType

from deltic.errors import DelticError, ProgramError, count_of, did_you_mean
from deltic.sql.statements.reading import Tokens, token_error
from deltic.sql.text import SourceText

Args = Mapping[str, Any] | Sequence[Any]
"""Values by the names of parameters, which may be more than a text has, or one for each `?` in their order."""

_DEFINING = ("CREATE", "ALTER", "COMMENT", "DROP")
_TYPES = (
    "None, bool, int, float, Decimal, str, bytes, date, datetime, timedelta, lists and dicts of these, scalars of numpy"
)
_LONGEST = 38
"""The most digits of a number."""
_LONG = 20
"""The fewest digits of which some whole numbers are no BIGINT."""
_OPERANDS = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.STRING,
    TokenType.NUMBER,
    TokenType.R_PAREN,
    TokenType.R_BRACKET,
}
"""What may end a value: `:name` after one is a field of that value, and no parameter."""


def filled(statements: Sequence[Tokens], args: Args | None, source: SourceText) -> list[Tokens]:
    """Return the statements with values in the places of parameters.

    Raises ProgramError for a parameter without a value, a value without its `?`, one of a type that SQL has not, and a
    definition with parameters: it would be kept without their values; DelticError for a value instead of a list.
    """
    if args is not None and (isinstance(args, str | bytes) or not hasattr(args, "__len__")):
        raise DelticError(
            f"args: expected a list of values, or a dict of them by name, found {args!r}; write [{args!r}]"
        )
    used: list[str] = []
    results: list[Tokens] = [list(_filled(tokens, args, used, source)) for tokens in statements]
    if args is not None and not isinstance(args, Mapping) and statements and len(used) < len(args):
        message = f"there are {count_of(len(args), 'value')} for {count_of(len(used), 'parameter')}"
        raise token_error(source, statements[0][0], message, "each value has its `?`")
    return results


def _filled(tokens: Tokens, args: Args | None, used: list[str], source: SourceText) -> Iterator[Token]:
    """Yield the tokens of one statement; the parameters in it are added to those that are `used`."""
    before: Token | None = None
    position = 0
    while position < len(tokens):
        token = tokens[position]
        following = tokens[position + 1] if position + 1 < len(tokens) else None
        if token.token_type in (TokenType.PLACEHOLDER, TokenType.QDCOLON):
            name, end, position = "?", token.start + 1, position + 1
        elif following is not None and _is_named(before, token, following):
            name, end, position = following.text, following.end + 1, position + 2
        else:
            yield token
            before, position = token, position + 1
            continue
        try:
            if _defines(tokens):
                raise _RefusedValue("a definition takes no parameters, since it is kept", "write the value")
            values = _literal(_value(name, args, used))
        except _RefusedValue as error:
            shown = source.text[token.start : end]
            raise ProgramError([source.at(token.start, end, f"{shown}: {error.message}", error.hint)]) from None
        used.append(name)
        before = Token(TokenType.VAR, name, token.line, token.col, token.start, end - 1, [])
        yield from (Token(kind, text, token.line, token.col, token.start, end - 1, []) for kind, text in values)
        if token.token_type is TokenType.QDCOLON:
            yield Token(TokenType.DCOLON, "::", token.line, token.col, token.start + 1, token.end, [])


def _defines(tokens: Tokens) -> bool:
    words = [token.text.upper() for token in tokens[:2]]
    return words[0] in _DEFINING or words == ["DECLARE", "RECURSIVE"]


def _is_named(before: Token | None, token: Token, following: Token) -> bool:
    """Return whether two tokens are `:name`, at a place where a value may begin."""
    return (
        token.token_type is TokenType.COLON
        and following.start == token.end + 1
        and following.text.isidentifier()
        and (before is None or before.token_type not in _OPERANDS)
    )


class _RefusedValue(Exception):
    """Why a parameter gets no value."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def _value(name: str, args: Args | None, used: Sequence[str]) -> Any:
    """Return the value of a parameter after those that are `used`; raises _RefusedValue where there is none."""
    if args is None:
        hint = 'give it one: args={"name": value} for `:name`, args=[value] for `?`'
        raise _RefusedValue("the parameter has no value", hint)
    if isinstance(args, Mapping) != (name != "?"):
        wanted = "a list or tuple" if name == "?" else "a dict"
        raise _RefusedValue(f"the values of such parameters are {wanted}", "use either `?` or `:name` in one text")
    if isinstance(args, Mapping):
        if name not in args:
            raise _RefusedValue("the parameter has no value", did_you_mean(name, args) or f"args has {', '.join(args)}")
        return args[name]
    if len(used) >= len(args):
        raise _RefusedValue("the parameter has no value", f"args has {len(args)}")
    return args[len(used)]


_Parts = list[tuple[TokenType, str]]


def _literal(value: Any) -> _Parts:
    """Return a value as the tokens of a literal; raises _RefusedValue for one that SQL has not."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None:
            return _template("NULL")
        case bool():
            return _template(str(value).upper())
        case int() | Decimal():
            return _of_number(Decimal(value))
        case float():
            return _template("DOUBLE('')", repr(value))
        case str():
            return _template("''", value)
        case bytes() | bytearray() | memoryview():
            return [(TokenType.HEX_STRING, bytes(value).hex())]
        case dt.datetime():
            kind = "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
            return _template(f"CAST('' AS {kind})", value.isoformat(" "))
        case dt.date():
            return _template("DATE('')", value.isoformat())
        case dt.timedelta():
            return _of_timedelta(value)
    return _composite(value)


def _composite(value: Any) -> _Parts:
    if isinstance(value, Mapping):
        return _call("map", [part for entry in value.items() for part in entry])
    if isinstance(value, list | tuple | np.ndarray):
        return _call("array", list(value))
    raise _RefusedValue(f"Python's type {type(value).__name__} is none of SQL", f"values are {_TYPES}")


def _of_number(value: Decimal) -> _Parts:
    """Return a whole number as an INT or BIGINT where it is one, others as a DECIMAL of their digits."""
    if not value.is_finite():
        raise _RefusedValue(f"{value} is no DECIMAL", "use a float")
    written = format(abs(value), "f")
    whole, _, fraction = written.partition(".")
    if len(whole.lstrip("0") + fraction) > _LONGEST:
        raise _RefusedValue(f"the number has {len(whole) + len(fraction)} digits", f"{_LONGEST} are the most")
    if fraction or len(whole) < _LONG:
        number = [(TokenType.NUMBER, written)]
    else:
        number = _template(f"CAST('' AS DECIMAL({len(whole)}, 0))", written)
    return [(TokenType.L_PAREN, "("), (TokenType.DASH, "-"), *number, (TokenType.R_PAREN, ")")] if value < 0 else number


def _of_timedelta(value: dt.timedelta) -> _Parts:
    days, rest = divmod(abs(value), dt.timedelta(days=1))
    sign = "-" if value < dt.timedelta() else ""
    microseconds = rest // dt.timedelta(microseconds=1)
    minutes, seconds = divmod(microseconds // 10**6, 60)
    time = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{microseconds % 10**6:06}"
    return _template("INTERVAL '' DAY TO SECOND", f"{sign}{days} {time}")


def _call(function: str, arguments: Sequence[Any]) -> _Parts:
    """Return the call of a function with values."""
    parts = [(TokenType.VAR, function), (TokenType.L_PAREN, "(")]
    for number, argument in enumerate(arguments):
        parts += [(TokenType.COMMA, ",")] * (number > 0) + _literal(argument)
    return [*parts, (TokenType.R_PAREN, ")")]


def _template(text: str, value: str = "") -> _Parts:
    """Return the tokens of a text, whose one literal '' is a value."""
    return [(kind, value if kind is TokenType.STRING else text) for kind, text in _tokens(text)]


@cache
def _tokens(text: str) -> _Parts:
    return [(token.token_type, token.text) for token in Spark().tokenize(text)]


# Literals as parameters


_PART = re.compile(
    r"'(?P<text>[^'\\]*)'|(?P<number>\d+(?:\.\d+)?)(?![\w.])|(?P<word>[^\W\d]\w*|`[^`]*`)|(?P<space>\s+)|.", re.S
)
_REFUSED = frozenset("'\"`?:\\@#$0123456789")
"""What begins tokens that are not simple: those of other quotes, of parameters and of other numbers."""
_BEFORE_A_SIGN = frozenset("(,=<>")
_MOST = 64
"""The most literals that are lifted."""
_INT = 1 << 31


def lifted(text: str) -> tuple[str, list[Any]] | None:
    """Return the text with `?` for its literals, and their values; None where it has none, or tokens that are not
    simple.

    Where a literal is more than a value, as in a type or an interval, the lifted text has no plan.
    """
    made, values, last, sign = list[str](), list[Any](), "", ""
    for part in _PART.finditer(text):
        kind, written = part.lastgroup, part[0]
        if kind == "space":
            made.append(" ")
            sign = ""
            continue
        value = _value_of(part)
        if value is not None:
            if last in ("'", ".") or (kind == "text" and made and made[-1].isidentifier()) or len(values) == _MOST:
                return None
            values.append(-value if sign else value)
            made[-1 if sign else len(made) :] = [" ? "]
        elif written in _REFUSED or written + last in ("--", "*/"):
            return None
        else:
            made.append(written)
        sign = "-" if written == "-" and last in _BEFORE_A_SIGN else ""
        last = "'" if kind == "text" else written
    return ("".join(made), values) if values else None


def _value_of(part: re.Match[str]) -> Any:
    """Return the value of a literal; None for another part, and for a number that is not of type INT or DECIMAL."""
    if part["text"] is not None:
        return part["text"]
    if part["number"] is None:
        return None
    return Decimal(part[0]) if "." in part[0] else int(part[0]) if int(part[0]) < _INT else None
