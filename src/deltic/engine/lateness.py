"""Rows that came too late, and the report about them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from deltic.engine.conflicts import SHOWN, listed
from deltic.errors import count_of
from deltic.lazy import pa

if TYPE_CHECKING:
    from deltic.engine.batches import Batch

# The treatment of rows that come too late: leave them out and report them, or reject the epoch.
LatePolicy = Literal["drop", "error"]


@dataclass(frozen=True)
class LateRows:
    """The changes of one table that an epoch left out because they were before its watermark."""

    table: str
    column: str
    """The table's time column."""
    watermark: Any
    """The least time that was not too late: a date, a datetime or an integer."""
    batch: Batch
    """All of them, insertions and deletions."""

    @property
    def rows(self) -> pa.Table:
        """The same changes in memory, with WEIGHT. Files are read now."""
        return self.batch.to_arrow()

    @property
    def count(self) -> int:
        """The number of changes, not counting weights."""
        return self.batch.count()

    @property
    def examples(self) -> list[tuple[Any, ...]]:
        """The values of the first changes, at most ten."""
        parts = (part.slice(0, SHOWN).columns[:-1] for part in self.batch.parts())
        rows = (row for columns in parts for row in zip(*(column.to_pylist() for column in columns), strict=True))
        return list(islice(rows, SHOWN))

    @property
    def summary(self) -> str:
        """Return a text about them, with examples."""
        return f"{self}: {listed(self.examples, self.count)}"

    def __repr__(self) -> str:
        rows = count_of(self.count, "late row")
        return f"{rows} of {self.table}, with {self.column} before {self.watermark}"
