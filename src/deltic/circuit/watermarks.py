"""Watermarks: a table may have another one beside it, of one row and one column, that says how far its time has come.

The column has the name of the table's column of times. No row of the table comes or goes from then on whose time is
before the watermark, which never falls: whoever changes the tables sees to both. NULL is before nothing.
"""

from __future__ import annotations

_PREFIX, _WHOLE = "?watermark?", "?watermark_of_all?"


def watermark_of(table: str, *, is_whole: bool = False) -> str:
    """The name of the table that holds the watermark of a table: of one that has to keep its rows, or of another."""
    return f"{_WHOLE if is_whole else _PREFIX}{table}"
