"""IDENTIFIER('name'), which may stand for any name: its text becomes the tokens of the name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from deltic.sql.queries.rows import variables_alone
from deltic.sql.scalars import typed
from deltic.sql.scalars.typed import folded
from deltic.sql.statements.reading import Tokens, expression, token_error
from deltic.sql.text import SourceText

_WANTED = "IDENTIFIER takes the text of a name"
_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")
_SCOPE = re.compile(r"(?:spark_catalog\.)?default\.(?=.)", re.IGNORECASE)
"""The one schema, which names may have in a text."""


def with_names(tokens: Tokens, source: SourceText) -> Tokens:
    """Return the tokens with names instead of IDENTIFIER(…). Raises ProgramError where it takes no text."""
    if not any(token.text.upper() == "IDENTIFIER" for token in tokens):
        return tokens
    return list(_with_names(tokens, source))


def _with_names(tokens: Tokens, source: SourceText) -> Iterator[Token]:
    position = 0
    while position < len(tokens):
        token = tokens[position]
        end = _end(tokens, position)
        if end is None:
            yield token
            position += 1
            continue
        called = end + 1 < len(tokens) and tokens[end + 1].token_type is TokenType.L_PAREN
        text = _SCOPE.sub("", _text(tokens[position + 2 : end], token, source), count=1)
        parts = [part[1].replace("``", "`") if part[1] is not None else part[2] for part in _PART.finditer(text)]
        if _PART.sub("", text) != "." * (len(parts) - 1) or not parts:
            raise token_error(source, tokens[position + 2], f"{text!r} is no name", "write a name, or t.a")
        for number, part in enumerate(parts):
            kind = TokenType.VAR if called and part.isidentifier() else TokenType.IDENTIFIER
            place = token.line, token.col, token.start, tokens[end].end
            yield from [Token(TokenType.DOT, ".", *place, [])] * (number > 0)
            yield Token(kind, part, *place, [])
        position = end + 1


def _end(tokens: Tokens, position: int) -> int | None:
    """Return the position of the parenthesis that closes IDENTIFIER(…); None where none begins."""
    first = tokens[position]
    if first.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or first.text.upper() != "IDENTIFIER":
        return None
    if position + 1 >= len(tokens) or tokens[position + 1].token_type is not TokenType.L_PAREN:
        return None
    depth = 0
    for end in range(position + 1, len(tokens)):
        kind = tokens[end].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if not depth:
            return end
    return None


def _text(tokens: Tokens, call: Token, source: SourceText) -> str:
    """Return the text of a name, a constant of texts and variables. Raises ProgramError for anything else."""
    if not tokens:
        raise token_error(source, call, _WANTED)
    hint = "join texts and variables by ||"
    value = folded(typed(expression(tokens, source), variables_alone(source, _WANTED, hint), source)).expression
    if not isinstance(value, exp.Literal) or not value.is_string:
        raise token_error(source, tokens[0], _WANTED, hint)
    return str(value.this)
