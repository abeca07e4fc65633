"""Sources that cannot be read: their tables stay unchanged while others refresh, and they are retried later.

A failure is stored as a position of the epoch that left the source out, so it survives the process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

FAILED = "failed {}"
"""The name of the position of a source's failure; None if it was read since."""
_FIRST, _LONGEST = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True)
class SourceFailure:
    """Why a source was left out, since when, how many times in a row, and the time of the next try."""

    reason: str
    since: str
    count: int
    retry: str

    @classmethod
    def after(cls, before: SourceFailure | None, reason: str, now: datetime) -> SourceFailure:
        """Return one more failure. The second try is at the next refresh; later pauses double each time."""
        count = 1 if before is None else before.count + 1
        pause = min(_FIRST * 2 ** (count - 2), _LONGEST) if count > 1 else timedelta()
        return cls(reason, before.since if before else _text(now), count, _text(now + pause))

    @property
    def position(self) -> dict[str, Any]:
        """Return it as a position."""
        return asdict(self)

    def __str__(self) -> str:
        often = f", {self.count} times" if self.count > 1 else ""
        return f"failed since {self.since}{often}, tried again after {self.retry}: {self.reason}"


def is_failure(position: str) -> bool:
    """Return whether a position with this name is a failure."""
    return position.startswith(FAILED.format(""))


def failed_sources(positions: Mapping[str, Any]) -> dict[str, SourceFailure]:
    """Return the sources that were left out, by table."""
    failures = {name.removeprefix(FAILED.format("")): at for name, at in positions.items() if is_failure(name)}
    return {table: SourceFailure(**at) for table, at in failures.items() if at is not None}


def due(tables: Collection[str], known: Mapping[str, SourceFailure], now: datetime) -> list[str]:
    """Return the tables whose sources must be read now: all of them if all would have to wait."""
    result = [name for name in tables if name not in known or datetime.fromisoformat(known[name].retry) <= now]
    return result or list(tables)


def now() -> datetime:
    """Return the present time, by which failures are dated."""
    return datetime.now(UTC)


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
