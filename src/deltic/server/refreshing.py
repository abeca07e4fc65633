"""Tables with rows elsewhere follow their sources: a refresh every so many seconds, in the thread of the writer.

Where a refresh fails it is tried again, after longer and longer pauses; from a few failures in a row on the sources
count as quarantined, and are tried now and then alone. Nothing of a refresh that failed is applied.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from deltic.engine.stopping import StopSignal
from deltic.errors import DelticError
from deltic.pipeline.connectors.refreshing import RefreshReport

if TYPE_CHECKING:
    from deltic.server.service import Service

_LOG = logging.getLogger("deltic.server")
_QUARANTINED = 5
"""So many failures in a row."""
_LONGEST = 300.0
"""Seconds between tries at most."""


class Refreshing:
    """Refreshes the tables of a service until `close`."""

    def __init__(self, service: Service, seconds: float) -> None:
        self._service, self._seconds = service, seconds
        self._failures, self._reason, self._since = 0, "", datetime.now(UTC)
        self._read: dict[str, int] = {}
        self._ended = Event()
        self._thread = Thread(target=self._run, name="deltic refresh", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Refresh no more."""
        self._ended.set()
        self._thread.join()

    def described(self) -> list[dict[str, Any]]:
        """Each table with a source, where that is, and how the last refresh went."""
        state = "running" if not self._failures else "quarantined" if self._failures >= _QUARANTINED else "retrying"
        return [
            {
                "table": table,
                "from": str(place),
                "state": state,
                "since": self._since,
                "reason": self._reason,
                "rows_read": self._read.get(table, 0),
                "rejected": 0,
            }
            for table, place in self._service.pipeline.sources.items()
        ]

    def _run(self) -> None:
        while not self._ended.wait(min(self._seconds * 2 ** min(self._failures, 10), max(self._seconds, _LONGEST))):
            try:
                report: RefreshReport = self._service.do(self._service.pipeline.refresh, StopSignal())
            except DelticError as error:
                self._failed(error)
                continue
            if self._failures:
                self._failures, self._reason, self._since = 0, "", datetime.now(UTC)
            for table, told in report.sources.items():
                self._read[table] = self._read.get(table, 0) + told.rows_read

    def _failed(self, error: DelticError) -> None:
        if not self._failures:
            self._since = datetime.now(UTC)
        self._failures, self._reason = self._failures + 1, str(error)
        self._service.activity.error("source", str(error))
        _LOG.warning("a refresh failed %d times in a row: %s", self._failures, error)
