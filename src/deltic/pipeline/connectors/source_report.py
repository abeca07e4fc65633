"""The report about one source of a refresh."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceReport:
    """What a refresh has read of a source."""

    how: str
    """What was read: "3 files read, 1 taken back", "compared" and so on."""
    rows_read: int
    files_read: int
    bytes_read: int
    inserted: int
    """The number of inserted rows; with tasks, including those that are also deleted."""
    deleted: int
    seconds: float

    def __str__(self) -> str:
        files = f" of {self.files_read:,} files, {self.bytes_read:,} bytes" if self.files_read else ""
        return f"{self.how}: {self.rows_read:,} rows{files}, +{self.inserted:,} −{self.deleted:,}"
