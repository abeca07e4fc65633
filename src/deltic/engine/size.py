"""The memory of an engine's state, by arrangement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """The memory of one arrangement of a relation."""

    relation: str
    role: str
    """Its role: "rows", "counts", or the state of an operator."""
    columns: tuple[str, ...]
    """The columns by which the rows are sorted, for rows and counts."""
    entries: int
    bytes: int
