"""IDENTIFIER('name'): the tokens of the name that a text is, wherever a name may stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from deltic.sql.statements.reading import Tokens, token_error
from deltic.sql.text import SourceText
from deltic.sql.variables import refuse_in_definition, variable_of

_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")
_SCOPE = re.compile(r"(?:spark_catalog\.)?default\.(?=.)", re.IGNORECASE)
"""The one schema, which names may have in a text."""


def with_names(tokens: Tokens, source: SourceText) -> Tokens:
    """The tokens with names in the place of IDENTIFIER(…). Raises ProgramError where it takes no text."""
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
        text = _SCOPE.sub("", "".join(_texts(tokens[position + 2 : end], token, source)), count=1)
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
    """The position of the parenthesis that closes IDENTIFIER(…); None where none begins."""
    first = tokens[position]
    if first.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or first.text.upper() != "IDENTIFIER":
        return None
    if position + 1 >= len(tokens) or tokens[position + 1].token_type is not TokenType.L_PAREN:
        return None
    kinds = [token.token_type for token in tokens[position + 1 :]]
    return position + 1 + kinds.index(TokenType.R_PAREN) if TokenType.R_PAREN in kinds else None


def _texts(tokens: Tokens, call: Token, source: SourceText) -> Iterator[str]:
    """The texts and values of variables that `||` joins."""
    for number, token in enumerate(tokens):
        if number % 2 and token.token_type is TokenType.DPIPE and number + 1 < len(tokens):
            continue
        variable = None if number % 2 else variable_of(exp.column(token.text))
        if not number % 2 and token.token_type is TokenType.STRING:
            yield token.text
        elif variable is not None and variable.text is not None:
            refuse_in_definition(variable, exp.column(_placed(token)), source)
            yield variable.text
        else:
            raise token_error(source, token, "IDENTIFIER takes the text of a name", "join texts and variables by ||")
    if not tokens:
        raise token_error(source, call, "IDENTIFIER takes the text of a name")


def _placed(token: Token) -> exp.Identifier:
    result = exp.Identifier(this=token.text)
    result.update_positions(token)
    return result
