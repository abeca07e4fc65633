"""Tokenizing SQL texts into statements, and parsing tokens into sqlglot's trees."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar, cast

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from deltic.circuit.expressions import balanced
from deltic.depth import TooDeep, deep
from deltic.errors import ProgramError, did_you_mean
from deltic.sql.dialect import BEHIND_A_NAME, DelticParser, of_values
from deltic.sql.remedies import of_type
from deltic.sql.text import SourceText

Tokens = Sequence[Token]

_TYPES = (
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(10, 2), STRING, BINARY, DATE, TIMESTAMP, "
    "TIMESTAMP_NTZ, ARRAY<INT>, MAP<STRING, INT>, STRUCT<a: INT>"
)
_BRACKETS = (TokenType.L_PAREN, TokenType.R_PAREN, TokenType.LT, TokenType.GT)


_ALSO_NAMES = ("VALUES", "LIMIT", "OFFSET", "WINDOW", "FETCH", "LOCK", "XOR", "GLOB", "NOTNULL")
"""Words of sqlglot's grammar that are names where nothing follows them that they could begin."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def split(source: SourceText) -> list[Tokens]:
    """Return the tokens of each statement that is not empty; raises ProgramError where the text is no tokens."""
    if lone := _SURROGATE.search(source.text):
        readable = SourceText(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", source.text), source.file)
        raise ProgramError([readable.at(*lone.span(), "half of a character, which no text in UTF-8 has")])
    try:
        tokens = _Tokenizer(dialect=Spark()).tokenize(source.text)
    except TokenError as error:
        raise _unreadable(source, error) from None
    for token, behind in itertools.pairwise(tokens):
        if token.token_type is not TokenType.IDENTIFIER and token.text.upper() in _ALSO_NAMES:
            token.token_type = TokenType.VAR if behind.token_type in BEHIND_A_NAME else token.token_type
        if token.token_type is behind.token_type is TokenType.COMMA:  # which sqlglot passes over
            raise token_error(source, behind, "`,` cannot stand here", "write what is between them, or one comma")
        if behind.token_type is TokenType.HEX_STRING and source.text[behind.start] == "0":
            raise token_error(source, behind, "a number has decimal digits", f"write X'{behind.text}' for bytes")
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def is_complete(text: str) -> bool:
    """Return whether a text ends with a `;` that stands in no quotes or comment, or says nothing at all."""
    try:
        tokens = _Tokenizer(dialect=Spark()).tokenize(text)
    except TokenError:
        return False
    return not tokens or tokens[-1].token_type is TokenType.SEMICOLON


def tree(tokens: Tokens, source: SourceText) -> exp.Expression:
    """Return the tree that sqlglot parses from the tokens of one statement; raises ProgramError if they are not one."""
    result = _read(tokens, source, None, "this cannot be read")
    if not isinstance(result, exp.Expression):
        raise token_error(source, tokens[0], "this is no statement of SQL")
    return result


def query(tokens: Tokens, source: SourceText) -> exp.Expression:
    """Return the query that tokens are; raises ProgramError where they are none."""
    result = tree(tokens, source)
    if isinstance(result, exp.Values):
        return of_values(result)
    if not isinstance(result, exp.Query):
        raise token_error(source, tokens[0], f"expected a query, found `{tokens[0].text}`")
    return result


def expression(tokens: Tokens, source: SourceText) -> exp.Expression:
    """Return the scalar expression that tokens are; raises ProgramError where they are none."""
    result = _read(tokens, source, exp.Condition, "this cannot be read as a value")
    if not isinstance(result, exp.Expression):
        raise token_error(source, tokens[0], "expected a value")
    return result


def _read(tokens: Tokens, source: SourceText, kind: type[exp.Expr] | None, message: str) -> exp.Expr | None:
    """Return the tree of this kind that sqlglot parses from tokens; raises ProgramError, by default with the
    message.
    """
    try:
        return level(_parsed(tokens, source, kind))
    except _Unexpected as error:
        raise _misplaced(error, tokens, source) from None
    except TooDeep as error:
        raise token_error(source, tokens[0], error.message, error.hint) from None
    except ParseError:
        raise token_error(source, tokens[0], message) from None


@deep
def _parsed(tokens: Tokens, source: SourceText, kind: type[exp.Expr] | None) -> exp.Expr | None:
    parser, given = _Parser(dialect=Spark()), list(tokens)
    try:
        (result,) = parser.parse_into(kind, given, source.text) if kind else parser.parse(given, source.text)
    except TokenError as error:
        # sqlglot reads the names of some types as texts of their own, and hides that the stack has ended in one.
        raise error.__cause__ or error from None
    return result


def data_type(tokens: Tokens, source: SourceText) -> exp.DataType:
    """Return the type that tokens name; raises ProgramError where they name none."""
    result = _data_type(tokens, source)
    if result is None:
        start, end = tokens[0].start, tokens[-1].end + 1
        name = tokens[0].text.upper()
        hint = of_type(name) or did_you_mean(name, _TYPES.split(", ")) or f"the types are {_TYPES}"
        raise ProgramError([source.at(start, end, f"there is no type {source.text[start:end]}", hint)])
    return result


def is_type(tokens: Tokens, source: SourceText) -> bool:
    """Return whether tokens name a type."""
    return _data_type(tokens, source) is not None


def _data_type(tokens: Tokens, source: SourceText) -> exp.DataType | None:
    try:
        result = _parsed(tokens, source, exp.DataType)
    except (ParseError, TooDeep):
        return None
    if not isinstance(result, exp.DataType):
        return None
    result.meta.update(start=tokens[0].start, end=tokens[-1].end)
    return result


def divided(tokens: Tokens) -> Iterator[Tokens]:
    """Yield the parts between the commas that stand in no parenthesis or angle."""
    if not tokens:
        return
    depth, begin = 0, 0
    for number, token in enumerate(tokens):
        depth += sum((c in "(<") - (c in ")>") for c in token.text) if token.token_type in _BRACKETS else 0
        if token.token_type is TokenType.COMMA and not depth:
            yield tokens[begin:number]
            begin = number + 1
    yield tokens[begin:]


def identifier(token: Token) -> exp.Identifier:
    """Return the identifier that a token is, with its place."""
    result = exp.Identifier(this=token.text, quoted=token.token_type is TokenType.IDENTIFIER)
    result.update_positions(token)
    return result


def is_name(token: Token) -> bool:
    """Return whether a token can be the name of a relation or column."""
    is_quoted = token.token_type is TokenType.IDENTIFIER
    return is_quoted or (token.token_type is not TokenType.STRING and token.text.isidentifier())


def token_error(source: SourceText, token: Token, message: str, hint: str = "") -> ProgramError:
    """Return the error about one token."""
    return ProgramError([source.at(token.start, token.end + 1, message, hint)])


class _Tokenizer(Spark.Tokenizer):
    """Spark's, for which every statement is tokens to its end."""

    COMMANDS: ClassVar[set[TokenType]] = set()


class _Unexpected(ParseError):
    """What the parser met where it expected something else."""

    def __init__(self, message: str, token: Token | None) -> None:
        super().__init__(message, [{}])
        self.message, self.token = message, token


class _Parser(DelticParser):
    """Spark's, which tells the token that it met, and passes over nothing that it does not know."""

    EXPRESSION_PARSERS: ClassVar = {
        **DelticParser.EXPRESSION_PARSERS,
        exp.DataType: lambda self: self._parse_types(allow_identifiers=False, schema=True, with_collation=True),
    }

    def raise_error(self, message: str, token: Any = None) -> NoReturn:
        raise _Unexpected(message, token or self._curr or None)

    def _parse_as_command(self, start: Token) -> NoReturn:
        self.raise_error("a statement of another dialect")

    def _warn_unsupported(self) -> NoReturn:
        self.raise_error("a statement of another dialect")


_MUTUAL = "write DECLARE RECURSIVE VIEW name (columns with types), then CREATE VIEW for each of the views"
# What sqlglot says where the type of a CAST is none.
_NO_TYPE = "Expected TYPE after CAST"
# What it calls that which it expected, and what it is.
_EXPECTED = {
    "AS after CAST": "`AS`",
    "CTE to have alias": "the name of a query in WITH",
    "table name": "the name of a table",
}


def _misplaced(error: _Unexpected, tokens: Tokens, source: SourceText) -> ProgramError:
    """Return the error for a token that the grammar does not have there, or for a statement that ends too early."""
    result = error.token
    expected = re.fullmatch(r"(?:Expecting|Expected) (.+?)(?: but got .*)?", error.message)
    wanted = f"; expected {_EXPECTED.get(expected[1], f'`{expected[1]}`')}" if expected else ""
    if result is None:
        last = tokens[-1]
        return token_error(source, last, f"the statement ends too early, after `{last.text}`{wanted}")
    if error.message == _NO_TYPE:
        return token_error(source, result, f"there is no type {_shown(result, source)}")
    words = [token.text.upper() for token in tokens if token.end <= result.end][-2:]
    remedy = _MUTUAL if words == ["MUTUALLY", "RECURSIVE"] else ""
    return token_error(source, result, f"`{_shown(result, source)}` cannot stand here{wanted}", remedy)


def _shown(token: Token, source: SourceText) -> str:
    return source.text[token.start : token.end + 1]


def _unreadable(source: SourceText, error: TokenError) -> ProgramError:
    """Return the error for a text in which a quote or comment does not end. sqlglot tells the offset of a quote's
    begin.
    """
    quote = re.search(r"Missing (\S+) from \d+:(\d+)", str(error.__cause__))
    if quote is not None:
        start, message = int(quote[2]), f"this is not closed: {quote[1]} is missing"
    elif "/*" in source.text:
        start, message = source.text.rindex("/*"), "this comment is not closed: */ is missing"
    else:
        start, message = 0, "the text cannot be read as SQL"
    return ProgramError([source.at(start, start + 1, message)])


_REGROUPED: tuple[type[exp.Expression], ...] = (exp.And, exp.Or, exp.DPipe)
T = TypeVar("T", bound=exp.Expr | None)


def level(tree: T) -> T:
    """Return the tree with its chains of AND, OR and `||` as balanced trees: sqlglot makes a level of each operand."""
    if tree is None:
        return tree
    around = exp.Paren(this=tree)
    for node in [*around.find_all(*_REGROUPED)]:
        if type(node.parent) is type(node):
            continue
        node.replace(balanced(type(node), _operands(node)))
    return cast("T", around.this.pop())


def _operands(node: exp.Expression) -> list[exp.Expression]:
    """Return the operands of a chain, from the left."""
    result, waiting = list[exp.Expression](), [node]
    while waiting:
        part = waiting.pop()
        if type(part) is type(node):
            waiting += [part.expression, part.this]
        else:
            result.append(part)
    return result
