"""How SQL stores values in a column of a table, where its type alone does not say it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnStorage:
    """Of a column: how many letters its texts have at most, and what it has where nothing is given.

    Texts that are `fixed`, CHAR(n), lose the blanks at their end. `default` is a constant as SQL has it, "" for NULL.
    Only SQL's INSERT, UPDATE and MERGE go by it; rows that come otherwise are stored as they are.
    """

    column: str
    limit: int | None = None
    fixed: bool = False
    default: str = ""
