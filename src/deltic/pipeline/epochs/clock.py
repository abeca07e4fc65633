"""The time of `current_timestamp` in a pipeline: the machine's, or one that stands until it is advanced."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

import pyarrow as pa

from deltic.catalog import Catalog
from deltic.catalog.definitions import CLOCK
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Source
from deltic.engine.batches import TableBatch
from deltic.engine.changes import Changes, ViewChange
from deltic.engine.comparing import netted
from deltic.engine.protocol import Engine
from deltic.engine.version import Version
from deltic.errors import DelticError
from deltic.pipeline.io.parsed import arrow_schema
from deltic.pipeline.options import Time


class Clock:
    """The present time, by default in UTC. It never goes back: an epoch has at least the time of the one before.

    If the clock stands `at` a time, it is that time until `advance`; else it follows the machine's.
    """

    def __init__(self, at: Time | None = None) -> None:
        self._stands = at is not None
        self._at = None if at is None else _instant(at)

    @classmethod
    def of(cls, catalog: Catalog, version: Version) -> Clock:
        """Return a clock that stands at the time of a version."""
        return cls(_shown(version) if CLOCK.name in catalog.tables else None)

    def advance(self, to: Time, catalog: Catalog, engine: Engine) -> None:
        """Set the time of the next epoch. DelticError if that of the last one is later."""
        wanted, now = _instant(to), _shown(engine) if CLOCK.name in catalog.tables else None
        if now is not None and wanted < now:
            raise DelticError(f"time does not go back: it is {now.isoformat()}, and {wanted.isoformat()} is before it")
        self._at = wanted

    def tick(self, catalog: Catalog, engine: Engine) -> dict[str, TableBatch]:
        """Return the change of the clock's table in the next epoch, if a view reads it."""
        if CLOCK.name not in catalog.tables:
            return {}
        now = _shown(engine)
        return {
            CLOCK.name: TableBatch(_rows({t: w for t, w in ((now, -1), (self.time(now), 1)) if t is not None}, now))
        }

    def time(self, now: datetime | None) -> datetime:
        """Return the time of an epoch after one at time `now`."""
        asked = self._at if self._at is not None and self._stands else max(self._at or _FIRST, datetime.now(UTC))
        return asked if now is None else max(asked, now)

    def show(self, engine: Engine, circuit: Circuit) -> Engine:
        """Set the time of an engine that was made for one answer, if its circuit reads it. Return the engine."""
        if any(isinstance(operator, Source) and operator.name == CLOCK.name for operator in circuit.operators):
            engine.apply({CLOCK.name: TableBatch(_rows({self.time(None): 1}, None))})
        return engine


class AnswerEngine(Protocol):
    """Makes an engine for one answer, at the present time or that of a clock."""

    def __call__(self, circuit: Circuit, clock: Clock | None = None) -> Engine:
        """Return an engine that has no rows but the time."""


_FIRST = datetime.min.replace(tzinfo=UTC)


def _rows(weights: dict[datetime, int], now: datetime | None) -> pa.Table:
    kept = {} if list(weights) == [now] else weights  # a time that stays has weight -1 and 1
    return pa.table([list(kept), list(kept.values())], schema=arrow_schema(CLOCK.schema, True))


def _shown(version: Version) -> datetime | None:
    """Return the time of the last epoch, if it had one."""
    rows = version.read(CLOCK.name, table=True).column("now")
    return rows[0].as_py().astimezone(UTC) if len(rows) else None


def _instant(time: Time) -> datetime:
    """Return a time as an instant. DelticError for an invalid text."""
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            raise DelticError(f"{time!r} is no time; write, for example, 2026-03-01T12:30:00Z") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def both(first: Changes, second: Changes) -> Changes:
    """Return the combined changes of two successive epochs."""
    parts = {view: [c for each in (first, second) if (c := each.batch(view))] for view in {**first, **second}}
    return Changes({view: result[0] if len(result) == 1 else _sum(result) for view, result in parts.items()})


def _sum(changes: list[ViewChange]) -> ViewChange:
    return ViewChange.of(netted(pa.concat_tables([change.to_arrow() for change in changes])))
