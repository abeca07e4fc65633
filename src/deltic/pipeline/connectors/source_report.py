"""The report about one source of a refresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltic.pipeline.io.rounding import RoundedValues


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
    rounded: Mapping[str, RoundedValues] = field(default_factory=dict)
    """The values that the option `coerce` has rounded, by column."""

    def __str__(self) -> str:
        files = f" of {self.files_read:,} files, {self.bytes_read:,} bytes" if self.files_read else ""
        rounded = "".join(f"; {column}: {each}" for column, each in self.rounded.items())
        return f"{self.how}: {self.rows_read:,} rows{files}, +{self.inserted:,} −{self.deleted:,}{rounded}"
