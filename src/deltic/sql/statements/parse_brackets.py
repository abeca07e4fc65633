"""BEGIN, COMMIT, ROLLBACK."""

from __future__ import annotations

from typing import Literal

from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.statements import TransactionBracket

Word = Literal["begin", "commit", "rollback"]
_WORDS: dict[str, Word] = {"BEGIN": "begin", "COMMIT": "commit", "ROLLBACK": "rollback"}


def parse_bracket(cursor: Cursor) -> TransactionBracket:
    """A statement that begins or ends a transaction."""
    if cursor.take("START"):
        cursor.need("TRANSACTION")
        word: Word = "begin"
    else:
        word = _WORDS[cursor.tokens[0].text.upper()]
        _ = cursor.take(word.upper()) and (cursor.take("TRANSACTION") or cursor.take("WORK"))
    cursor.end()
    return TransactionBracket(*cursor.span, word)
