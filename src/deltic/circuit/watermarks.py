"""Watermarks: a table may have a watermark table, of one row and one column, which says how far its time has come.

The column has the name of the table's column of times. From then on, no change of the table has a time before the
watermark, which never falls; the one who changes the tables ensures both. NULL is before nothing.
"""

from __future__ import annotations

_PREFIX, _WHOLE = "?watermark?", "?watermark_of_all?"


def watermark_of(table: str, *, is_whole: bool = False) -> str:
    """The name of the table that holds the watermark of a table: of one that has to keep its rows, or of another."""
    return f"{_WHOLE if is_whole else _PREFIX}{table}"
