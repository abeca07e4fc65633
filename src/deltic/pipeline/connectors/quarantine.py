"""Sources that cannot be read: their tables stay as they are while others refresh, and they are tried again later.

What is known of a failure is a position of the epoch that left the source out, so that it outlives the process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

FAILED = "failed {}"
"""The name of the position that has the failure of a table's source; None where it was read since."""
_FIRST, _LONGEST = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True)
class SourceFailure:
    """Why a source was left out, since when, how often in a row, and after which time it is tried again."""

    reason: str
    since: str
    count: int
    retry: str

    @classmethod
    def after(cls, before: SourceFailure | None, reason: str, now: datetime) -> SourceFailure:
        """One more failure: the second comes at the next refresh, later ones after twice the time of the one before."""
        count = 1 if before is None else before.count + 1
        pause = min(_FIRST * 2 ** (count - 2), _LONGEST) if count > 1 else timedelta()
        return cls(reason, before.since if before else _text(now), count, _text(now + pause))

    @property
    def position(self) -> dict[str, Any]:
        """It as a position."""
        return asdict(self)

    def __str__(self) -> str:
        often = f", {self.count} times" if self.count > 1 else ""
        return f"failed since {self.since}{often}, tried again after {self.retry}: {self.reason}"


def is_failure(position: str) -> bool:
    """Whether a position with this name is a failure."""
    return position.startswith(FAILED.format(""))


def failed_sources(positions: Mapping[str, Any]) -> dict[str, SourceFailure]:
    """The sources that were left out, by their tables."""
    failures = {name.removeprefix(FAILED.format("")): at for name, at in positions.items() if is_failure(name)}
    return {table: SourceFailure(**at) for table, at in failures.items() if at is not None}


def due(tables: Collection[str], known: Mapping[str, SourceFailure], now: datetime) -> list[str]:
    """The tables whose sources are to be read now: all of them where all would have to wait."""
    result = [name for name in tables if name not in known or datetime.fromisoformat(known[name].retry) <= now]
    return result or list(tables)


def now() -> datetime:
    """The time, by which failures are dated."""
    return datetime.now(UTC)


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
