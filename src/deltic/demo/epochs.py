"""What is known about one epoch of the demonstration, and the medians over several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

from deltic.pipeline.epochs.report import RowCounts


@dataclass(frozen=True)
class DemoEpoch:
    """One epoch: the edit, what it changed, and how long that took. Times are in seconds."""

    number: int
    words: str
    files: int
    rows_in: RowCounts
    views: Mapping[str, RowCounts]
    update: float
    recomputation: float | None = None
    insights: tuple[str, ...] = field(default=())

    @property
    def ratio(self) -> float | None:
        """How many times faster the update was than the recomputation, where that was measured and rows changed."""
        changed = self.rows_in.inserted + self.rows_in.deleted
        return None if self.recomputation is None or not changed else self.recomputation / self.update

    @property
    def view_rows(self) -> RowCounts:
        """The rows that came and went in all views together."""
        changes = self.views.values()
        return RowCounts(sum(c.inserted for c in changes), sum(c.deleted for c in changes))


@dataclass(frozen=True)
class Medians:
    """The middle of the measurements of the edits of one file."""

    edits: int
    update: float
    recomputation: float
    ratio: float


def medians_of_small_edits(epochs: Iterable[DemoEpoch]) -> Medians | None:
    """Return the medians over the epochs that edit one file, change rows and have a ratio; None without any."""
    small = [e for e in epochs if e.number and e.files == 1 and e.ratio is not None]
    if not small:
        return None
    recomputations = [e.recomputation for e in small if e.recomputation is not None]
    ratios = [e.ratio for e in small if e.ratio is not None]
    return Medians(len(small), median(e.update for e in small), median(recomputations), median(ratios))
