"""Names in the text of circuits: plain words as they are, other names quoted as in SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLAIN = re.compile(r"[^\W\d]\w*")
SYNTAX = frozenset(
    (
        *("AND", "OR", "NOT", "IS", "NULL", "TRUE", "FALSE", "AS", "CASE", "WHEN", "THEN", "ELSE", "END", "TRY_CAST"),
        *("COALESCE", "DISTINCT", "FROM", "inf", "nan"),
        *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "REAL"),
        *("DOUBLE", "DECIMAL", "TEXT", "VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL", "STRUCT"),
        *("MAP", "YEAR", "MONTH", "DAY", "SECOND", "MICROSECOND", "TO", "CAST", "CHECKED"),
        *("outer", "sets", "partial"),
    )
)
"""Words that have a meaning in expressions or after an operator, in this spelling."""
WRITTEN = r'(?:"(?:[^"]|"")*"|[^\W\d]\w*)'
"""The pattern of a name in the text form."""


def is_plain(name: str) -> bool:
    """Return whether the name is written without quotes."""
    return _PLAIN.fullmatch(name) is not None and name not in SYNTAX


def word(name: str) -> str:
    """Return the name as it is written in the text form.

    >>> word("edge"), word("a b"), word('6" pipe')
    ('edge', '"a b"', '"6"" pipe"')
    """
    return name if is_plain(name) else quoted(name)


def quoted(name: str) -> str:
    """Return the name in quotes, as in SQL."""
    return '"' + name.replace('"', '""') + '"'


def unquoted(text: str) -> str:
    """Return the name of a text that `word` wrote."""
    return text[1:-1].replace('""', '"') if text.startswith('"') else str(text)  # a token is a text, too


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many others there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
