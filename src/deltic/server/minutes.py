"""Epochs summed by minute for the last day, to show when something became slow."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from deltic.pipeline.epochs.report import EpochReport

MINUTES = 24 * 60
_MOST = 8
"""The number of views, tables and phases to report of a minute: those with most."""


@dataclass
class Minute:
    """The epochs that ended in a minute; `slowest` is in seconds, `work` has the seconds by view."""

    at: datetime
    epochs: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    rows_in: int = 0
    rows_out: int = 0
    rows_visited: int = 0
    work: Counter[str] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)

    def add(self, report: EpochReport, work: Mapping[str, float]) -> None:
        """Add an epoch, with the seconds by view."""
        self.epochs += 1
        self.seconds += report.total_seconds
        self.slowest = max(self.slowest, report.total_seconds)
        self.rows_in += report.rows_in
        self.rows_out += report.rows_out
        self.rows_visited += report.rows_visited
        for sums, parts in ((self.work, work), (self.tables, report.tables), (self.phases, report.phases)):
            sums.update(parts)

    def described(self) -> dict[str, Any]:
        """Return the minute as JSON."""
        most = {name: dict(getattr(self, name).most_common(_MOST)) for name in ("work", "tables", "phases")}
        return {**vars(self), **most}


class Minutes:
    """The last minutes with epochs, at most those of a day."""

    def __init__(self) -> None:
        self._minutes: deque[Minute] = deque(maxlen=MINUTES)

    def add(self, at: datetime, report: EpochReport, work: Mapping[str, float]) -> None:
        """Add an epoch that ended at a time, not before those that were added."""
        minute = at.replace(second=0, microsecond=0)
        if not self._minutes or self._minutes[-1].at < minute:
            self._minutes.append(Minute(minute))
        self._minutes[-1].add(report, work)

    def described(self, since: datetime | None) -> list[dict[str, Any]]:
        """Return the minutes as JSON, without those that had ended by a time; all for None."""
        begin = None if since is None else since - timedelta(minutes=1)
        return [minute.described() for minute in self._minutes if begin is None or minute.at > begin]
