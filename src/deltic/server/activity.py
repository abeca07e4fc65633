"""The activity of a service, for monitoring: epochs, costs of tables and views, errors.

It keeps the last epochs, the minutes of a day, sums since the start of the server, and the last errors, with equal
ones counted. The costs of a hidden relation are divided equally among the views that read it.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from heapq import nlargest
from itertools import takewhile
from threading import Lock
from typing import Any

from deltic.passwords import redacted
from deltic.pipeline.epochs.report import EpochReport
from deltic.server.minutes import Minutes

EPOCHS, ERRORS = 600, 100
"""How many of the last ones are kept."""
_MOST = 24
"""The number of views to report of an epoch, those that changed or cost most."""


@dataclass
class RelationWork:
    """Sums for a table or view since the start of the server: rows inserted and deleted, seconds, rows visited."""

    changed: int = 0
    seconds: float = 0.0
    visited: float = 0.0
    last_epoch: int | None = None


@dataclass
class LoggedError:
    """An error and how often it occurred, last `at`; `kind` is "statement", "source", "state" or "subscription"."""

    kind: str
    relation: str | None
    message: str
    at: datetime
    count: int = 1


class Activity:
    """Observes the epochs of a pipeline; it is safe for threads."""

    def __init__(self, writers_of: Callable[[int], int], views: Callable[[], Mapping[str, tuple[str, ...]]]) -> None:
        """`writers_of` gives the number of transactions in an epoch, `views` those above each relation of the plan."""
        self.started = datetime.now(UTC)
        self._writers_of, self._views_now = writers_of, views
        self._views = views()
        self._lock = Lock()
        self._epochs: deque[dict[str, Any]] = deque(maxlen=EPOCHS)
        self._minutes = Minutes()
        self._work: dict[str, RelationWork] = {}
        self._errors: OrderedDict[tuple[str, str | None, str], LoggedError] = OrderedDict()

    def epoch(self, report: EpochReport) -> None:
        """Add an epoch."""
        now = datetime.now(UTC)
        seconds, visited = self._by_view(report)
        described = _described(now, report, seconds, visited, self._writers_of(report.epoch))
        with self._lock:
            self._epochs.append(described)
            self._minutes.add(now, report, seconds)
            for table, rows in report.tables.items():
                self._changed(table, rows, report.epoch)
            for view, counts in report.changed.items():
                self._changed(view, counts.inserted + counts.deleted, report.epoch)
            for view, spent in seconds.items():
                work = self._work.setdefault(view, RelationWork())
                work.seconds, work.visited = work.seconds + spent, work.visited + visited[view]

    def _changed(self, name: str, rows: int, epoch: int) -> None:
        work = self._work.setdefault(name, RelationWork())
        work.changed, work.last_epoch = work.changed + rows, epoch

    def _by_view(self, report: EpochReport) -> tuple[dict[str, float], dict[str, float]]:
        """Return the seconds, and the rows visited, of an epoch by view."""
        seconds, visited = defaultdict[str, float](float), defaultdict[str, float](float)
        for stratum in report.work:
            if any(name not in self._views for name in stratum.relations):
                self._views = self._views_now()
            views = {view for name in stratum.relations for view in self._views.get(name, (name,))}
            for view in views:
                seconds[view] += stratum.seconds / len(views)
                visited[view] += stratum.rows_visited / len(views)
        return seconds, visited

    def error(self, kind: str, message: str, relation: str | None = None) -> None:
        """Add an error."""
        key = kind, relation, redacted(message)
        with self._lock:
            if (known := self._errors.pop(key, None)) is not None:
                known.count, known.at = known.count + 1, datetime.now(UTC)
            self._errors[key] = known or LoggedError(*key, datetime.now(UTC))
            while len(self._errors) > ERRORS:
                self._errors.popitem(last=False)

    def epochs(self, since: int) -> list[dict[str, Any]]:
        """Return the epochs after one, the oldest first."""
        with self._lock:
            later = takewhile(lambda epoch: epoch["epoch"] > since, reversed(self._epochs))
            return list(later)[::-1]

    def minutes(self, since: int) -> list[dict[str, Any]]:
        """Return the minutes of a day without those that had ended by an epoch; all for 0."""
        with self._lock:
            known = next((entry["at"] for entry in self._epochs if entry["epoch"] == since), None)
            return self._minutes.described(known)

    def work(self) -> Mapping[str, RelationWork]:
        """Return the work on each relation; relations that no epoch reached are left out."""
        with self._lock:
            return {name: RelationWork(**vars(work)) for name, work in self._work.items()}

    def errors(self) -> list[LoggedError]:
        """Return the last errors, the newest first."""
        with self._lock:
            return list(reversed(self._errors.values()))


def _described(
    at: datetime, report: EpochReport, seconds: Mapping[str, float], visited: Mapping[str, float], writers: int
) -> dict[str, Any]:
    """Return an epoch as JSON, with the largest entries of each list by view."""
    changed = {view: counts.inserted + counts.deleted for view, counts in report.changed.items()}
    return {
        "epoch": report.epoch,
        "at": at,
        "seconds": report.total_seconds,
        "rows_in": report.rows_in,
        "rows_out": report.rows_out,
        "rows_visited": report.rows_visited,
        "writers": writers,
        "changed": {view: [report.changed[view].inserted, report.changed[view].deleted] for view in _most(changed)},
        "tables": dict(report.tables),
        "phases": dict(report.phases),
        "work": {view: seconds[view] for view in _most(seconds)},
        "visited": {view: round(visited[view]) for view in _most(visited)},
        "components": list(map(asdict, report.components)),
        "late": {each.table: each.count for each in report.late},
        "plan": report.plan,
        "definitions": None if report.extension is None else str(report.extension),
    }


def _most(amounts: Mapping[str, float]) -> list[str]:
    """Return the views with the largest values."""
    return nlargest(_MOST, amounts, key=amounts.__getitem__)
