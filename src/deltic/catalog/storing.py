"""Rules for storing values in a column beyond its type: length, padding, default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnStorage:
    """The longest text that a column stores, and its default.

    Texts that are `fixed`, CHAR(n), lose the blanks at their end. `default` is a constant as SQL has it, "" for NULL.
    Only SQL's INSERT, UPDATE and MERGE use it; other rows are stored as they are, with the default in
    columns that they leave out. `collation` says how SQL compares its texts, "" for by their bytes.
    """

    column: str
    limit: int | None = None
    fixed: bool = False
    default: str = ""
    collation: str = ""
