"""The activity of a service, for monitoring: epochs, costs of tables and views, errors.

It keeps the last epochs, the minutes of a day, sums since the start of the server, and the last errors, with equal
ones counted. The costs of a hidden relation are divided equally among the views that read it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from itertools import takewhile
from threading import Lock
from typing import Any

from deltic.passwords import redacted
from deltic.pipeline.epochs.report import EpochReport

EPOCHS, ERRORS, MINUTES = 600, 100, 24 * 60
"""How many of the last ones are kept."""
_MOST, _MOST_OF_MINUTE = 24, 8
"""The number of views to report of an epoch, and of views, tables and phases of a minute: those with most."""


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
        most = {name: dict(getattr(self, name).most_common(_MOST_OF_MINUTE)) for name in ("work", "tables", "phases")}
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
