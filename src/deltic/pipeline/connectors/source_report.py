"""What a refresh has read of one source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceReport:
    """What was new in a source."""

    how: str
    """What was read: "3 files read, 1 taken back", "compared" and the like."""
    rows_read: int
    files_read: int
    bytes_read: int
    inserted: int
    """How many rows came, of those that came and went; of what tasks have read, those that did both are among them."""
    deleted: int
    seconds: float

    def __str__(self) -> str:
        files = f" of {self.files_read:,} files, {self.bytes_read:,} bytes" if self.files_read else ""
        return f"{self.how}: {self.rows_read:,} rows{files}, +{self.inserted:,} −{self.deleted:,}"
