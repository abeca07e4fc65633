"""Watermarks: a table may have another one beside it, of one row and one column, that says how far its time has come.

The column has the name of the table's column of times. No row of the table comes or goes from then on whose time is
before the watermark, which never falls: whoever changes the tables sees to both. NULL is before nothing.
"""

from __future__ import annotations

_PREFIX = "?watermark?"


def watermark_of(table: str) -> str:
    """The name of the table that holds the watermark of a table, where that has one."""
    return f"{_PREFIX}{table}"
