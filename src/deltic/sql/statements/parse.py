"""Parsing an SQL text into statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import accumulate
from typing import Literal

from deltic.errors import did_you_mean
from deltic.passwords import hidden_in
from deltic.sql.remedies import STATEMENTS
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.identifiers import with_names
from deltic.sql.statements.parameters import Args, filled
from deltic.sql.statements.parse_alter import parse_alter, parse_comment
from deltic.sql.statements.parse_changes import parse_change
from deltic.sql.statements.parse_definitions import parse_create
from deltic.sql.statements.parse_questions import parse_describe, parse_explain, parse_query, parse_show, parse_use
from deltic.sql.statements.parse_session import (
    parse_declaration,
    parse_dropping,
    parse_execute,
    parse_reset,
    parse_set,
)
from deltic.sql.statements.reading import Tokens, split, token_error
from deltic.sql.statements.statements import CreateTable, Statement, TransactionBracket
from deltic.sql.text import SourceText
from deltic.sql.variables import keeping


def parse(text: str, file: str = "<sql>", args: Args | None = None) -> tuple[Statement, ...]:
    """Return the statements of a text, which `;` divides; none of them has the password of a source.

    `args` are the values of its parameters. Raises ProgramError for the first statement that is wrong.
    """
    statements = _parse(text, file, args)
    without = _without_passwords(text, statements)
    return statements if without == text else _parse(without, file, args)


def _parse(text: str, file: str, args: Args | None) -> tuple[Statement, ...]:
    source = SourceText(text, file)
    return tuple(_statement(tokens, source) for tokens in filled(split(source), args, source))


def _without_passwords(text: str, statements: Sequence[Statement]) -> str:
    """Return a text whose statements name sources without their passwords, which are remembered by now."""
    for statement in reversed(statements):
        if isinstance(statement, CreateTable) and (place := statement.table.source) is not None:
            made = hidden_in(statement.text, (value for _, value in place.options))
            text = text[: statement.start] + made + text[statement.end :]
    return text


def _statement(tokens: Tokens, source: SourceText) -> Statement:
    first = tokens[0]
    read = parse_query if first.text.startswith("(") else _READERS.get(first.text.upper())
    if first.text.upper() == "WITH" and _inserts(tokens):
        read = parse_change
    if read is None:
        word = first.text.upper()
        listed = f"statements begin with {', '.join(_READERS)}"
        hint = STATEMENTS.get(word) or did_you_mean(word, _READERS) or listed
        hint = "this looks like Datalog, which pipeline.datalog and files *.dl take" if first.text == "." else hint
        raise token_error(source, first, f"no statement begins with `{first.text}`", hint)
    with keeping() if first.text.upper() in ("CREATE", "ALTER") else nullcontext():
        return read(Cursor(with_names(tokens, source), source))


Word = Literal["begin", "commit", "rollback"]
_WORDS: dict[str, Word] = {"BEGIN": "begin", "COMMIT": "commit", "ROLLBACK": "rollback"}


def parse_bracket(cursor: Cursor) -> TransactionBracket:
    """Return a statement that begins or ends a transaction."""
    if cursor.take("START"):
        cursor.need("TRANSACTION")
        word: Word = "begin"
    else:
        word = _WORDS[cursor.tokens[0].text.upper()]
        _ = cursor.take(word.upper()) and (cursor.take("TRANSACTION") or cursor.take("WORK"))
    cursor.end()
    return TransactionBracket(*cursor.span, word)


def _inserts(tokens: Tokens) -> bool:
    """Return whether INSERT follows WITH: `WITH w AS (…) INSERT INTO t SELECT * FROM w`."""
    words = [token.text.upper() for token in tokens]
    depths = accumulate((word == "(") - (word == ")") for word in words)
    follows = zip(words, words[1:], words[2:], depths, strict=False)
    return any(
        depth == 0 and here == ")" and then == "INSERT" and last in ("INTO", "OVERWRITE")
        for here, then, last, depth in follows
    )


_READERS: dict[str, Callable[[Cursor], Statement]] = {
    **dict.fromkeys(("SELECT", "WITH", "FROM", "VALUES", "TABLE"), parse_query),
    "CREATE": parse_create,
    "DROP": parse_dropping,
    "ALTER": parse_alter,
    "COMMENT": parse_comment,
    "DECLARE": parse_declaration,
    "SET": parse_set,
    "RESET": parse_reset,
    "EXECUTE": parse_execute,
    **dict.fromkeys(("BEGIN", "START", "COMMIT", "ROLLBACK"), parse_bracket),
    **dict.fromkeys(("INSERT", "DELETE", "UPDATE", "MERGE", "TRUNCATE"), parse_change),
    "EXPLAIN": parse_explain,
    "SHOW": parse_show,
    "USE": parse_use,
    **dict.fromkeys(("DESCRIBE", "DESC"), parse_describe),
}
