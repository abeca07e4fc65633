"""The memory that the state of an engine takes, one arrangement at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """The memory of one arrangement of a relation."""

    relation: str
    role: str
    """What it is for: "rows", "counts", or what an operator keeps."""
    columns: tuple[str, ...]
    """The columns in whose order the rows are, where it is for rows."""
    entries: int
    bytes: int
