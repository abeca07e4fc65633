"""Watermarks: a table may have a watermark table, of one row and one column, which holds a lower bound of future times.

Its column has the name of the table's time column. Later changes of the table have no time before the watermark,
and the watermark never falls; the caller that changes the tables ensures both. NULL bounds nothing.
"""

from __future__ import annotations

_PREFIX, _WHOLE = "?watermark?", "?watermark_of_all?"


def watermark_of(table: str, *, is_whole: bool = False) -> str:
    """The name of the table that holds the watermark of a table, which keeps all of its rows if `is_whole`."""
    return f"{_WHOLE if is_whole else _PREFIX}{table}"
