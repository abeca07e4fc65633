"""What a service does, for people who watch it: epochs, what each relation costs, errors.

It keeps the last epochs, sums since the server started, and the last errors, equal ones counted.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from deltic.engine.result import ComponentReport
from deltic.passwords import redacted
from deltic.pipeline.epochs.report import EpochReport

EPOCHS, ERRORS = 600, 100
"""How many of the last ones are kept."""


@dataclass
class RelationWork:
    """What happened to a relation since the server started; seconds and rows visited are those of its stratum."""

    inserted: int = 0
    deleted: int = 0
    seconds: float = 0.0
    visited: int = 0
    last_epoch: int | None = None


@dataclass
class LoggedError:
    """An error that came so often, the last time `at`; `kind` is "statement", "source" or "subscription"."""

    kind: str
    relation: str | None
    message: str
    at: datetime
    count: int = 1


class Activity:
    """Observes the epochs of a pipeline; any thread may ask."""

    def __init__(self, writers_of: Callable[[int], int]) -> None:
        """`writers_of` gives the number of transactions that an epoch was."""
        self.started = datetime.now(UTC)
        self._writers_of = writers_of
        self._lock = Lock()
        self._epochs: deque[dict[str, Any]] = deque(maxlen=EPOCHS)
        self._work: dict[str, RelationWork] = {}
        self._errors: OrderedDict[tuple[str, str | None, str], LoggedError] = OrderedDict()

    def epoch(self, report: EpochReport) -> None:
        """Add an epoch."""
        described = _described(report, self._writers_of(report.epoch))
        with self._lock:
            self._epochs.append(described)
            for table, rows in report.tables.items():
                self._of(table, report.epoch).inserted += rows
            for view, counts in report.changed.items():
                work = self._of(view, report.epoch)
                work.inserted, work.deleted = work.inserted + counts.inserted, work.deleted + counts.deleted
            for stratum in report.work:
                for relation in stratum.relations:
                    work = self._of(relation, report.epoch)
                    work.seconds += stratum.seconds / len(stratum.relations)
                    work.visited += stratum.rows_visited // len(stratum.relations)

    def _of(self, relation: str, epoch: int) -> RelationWork:
        work = self._work.setdefault(relation, RelationWork())
        work.last_epoch = epoch
        return work

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
        """The epochs after one, the oldest first."""
        with self._lock:
            return [told for told in self._epochs if told["epoch"] > since]

    def work(self) -> Mapping[str, RelationWork]:
        """What happened to each relation; those that it says nothing of were not reached."""
        with self._lock:
            return {name: RelationWork(**vars(work)) for name, work in self._work.items()}

    def errors(self) -> list[LoggedError]:
        """The last errors, the newest first."""
        with self._lock:
            return list(reversed(self._errors.values()))


def _described(report: EpochReport, writers: int) -> dict[str, Any]:
    """An epoch as JSON."""
    return {
        "epoch": report.epoch,
        "at": datetime.now(UTC),
        "seconds": report.seconds,
        "rows_in": report.rows_in,
        "rows_out": report.facts["rows_out"],
        "rows_visited": report.rows_visited,
        "writers": writers,
        "changed": {name: [counts.inserted, counts.deleted] for name, counts in report.changed.items()},
        "tables": dict(report.tables),
        "phases": dict(report.phases),
        "work": [
            {"relations": each.relations, "seconds": each.seconds, "visited": each.rows_visited} for each in report.work
        ],
        "components": list(map(_component, report.components)),
        "late": {each.table: each.count for each in report.late},
        "definitions": None if report.extension is None else str(report.extension),
    }


def _component(component: ComponentReport) -> dict[str, Any]:
    return {
        "relations": component.relations,
        "strategy": component.strategy,
        "action": component.action,
        "reason": component.reason,
        "rows_visited": component.rows_visited,
        "seconds": component.seconds,
    }
