"""Periodic work of a server: refreshing tables from their sources, and following a state that others write.

All of it is done in the thread of the writer, as are all changes of a pipeline. A failing source is left out and tried
again with increasing pauses, as in `pipeline.refresh`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from deltic.engine.stopping import StopSignal
from deltic.errors import DelticError
from deltic.pipeline.connectors.quarantine import failed_sources
from deltic.pipeline.refreshing import RefreshReport
from deltic.server.space import CachedCounts

if TYPE_CHECKING:
    from deltic.server.service import Service

_LOG = logging.getLogger("deltic.server")
_QUARANTINED = 3
"""Failures in a row from which on a source is tried now and then alone."""


class Repeating:
    """Calls a function every `seconds` seconds until `close`."""

    def __init__(self, work: Callable[[], None], seconds: float, name: str) -> None:
        self._work, self._seconds = work, seconds
        self._ended = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop calling it."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            self._work()


class Refreshing:
    """Refreshes the tables of a service until `close`."""

    def __init__(self, service: Service, seconds: float) -> None:
        self._service = service
        self._begun = datetime.now(UTC)
        self._failure: tuple[datetime, str] | None = None
        """Since when no refresh succeeds at all, and why."""
        self._read: dict[str, int] = {}
        service.sources = self.described
        self.close = Repeating(self._refresh, seconds, "deltic refresh").close

    def described(self) -> list[dict[str, Any]]:
        """Return each table with a source: its place, and the outcome of the last refresh."""
        return [
            {"table": table, "from": str(place), "rows_read": self._read.get(table, 0)} | self._state(table)
            for table, place in self._service.pipeline.sources.items()
        ]

    def _state(self, table: str) -> dict[str, Any]:
        if (failure := failed_sources(self._service.pipeline.positions).get(table)) is not None:
            state = "quarantined" if failure.count >= _QUARANTINED else "retrying"
            return {"state": state, "since": failure.since, "reason": failure.reason, "retry": failure.retry}
        if self._failure is not None:
            since, reason = self._failure
            return {"state": "retrying", "since": since, "reason": reason}
        return {"state": "running", "since": self._begun, "reason": ""}

    def _refresh(self) -> None:
        try:
            report: RefreshReport = self._service.do(self._service.pipeline.refresh, StopSignal())
        except DelticError as error:
            self._failure = self._failure or (datetime.now(UTC), str(error))
            self._failed(str(error), None)
            return
        self._failure = None
        for table, entry in report.sources.items():
            self._read[table] = self._read.get(table, 0) + entry.rows_read
        for table, failure in report.failed.items():
            self._failed(failure.reason, table)

    def _failed(self, reason: str, table: str | None) -> None:
        self._service.activity.error("source", reason, table)
        _LOG.warning("a refresh failed%s: %s", f" for {table}" if table else "", reason)


def followed(service: Service, seconds: float) -> Repeating:
    """Follow the state of a service's pipeline, which is only read, at this interval in seconds until it is closed."""
    return Repeating(partial(_follow, service), seconds, "deltic follow")


def _follow(service: Service) -> None:
    before, failure = service.pipeline.epoch, service.behind
    try:
        service.do(service.pipeline.follow, StopSignal())
    except DelticError as error:
        service.behind = f"the state cannot be followed beyond epoch {service.pipeline.epoch}: {error}"
        service.activity.error("state", service.behind)
        if service.behind != failure:
            _LOG.warning("%s", service.behind)
    else:
        service.behind = ""
        if failure:
            _LOG.warning("the state is followed again, up to epoch %d", service.pipeline.epoch)
    if len(service.activity.epochs(before)) < service.pipeline.epoch - before:  # it began with a checkpoint
        service.counts = CachedCounts()
