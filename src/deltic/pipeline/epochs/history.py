"""The changes of the last epochs, for followers of views."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile
from threading import Condition
from typing import TYPE_CHECKING

from deltic.engine.changes import Changes, ViewChange
from deltic.errors import DelticError
from deltic.pipeline.epochs.awaiting import Arrivals
from deltic.pipeline.rows.rows import Delta
from deltic.values.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPOCHS, ROWS = 1_000, 1_000_000


@dataclass(frozen=True)
class _Epoch:
    number: int
    changes: Changes
    rows: int


class ChangeHistory:
    """Retains the changes of the last epochs, up to a number of epochs and of rows, as handles.

    One thread adds epochs; any may read.
    """

    def __init__(self, epoch: int = 0, epochs: int = EPOCHS, rows: int = ROWS) -> None:
        self._most_epochs, self._most_rows = epochs, rows
        self._kept: deque[_Epoch] = deque()
        self._ended: dict[str, int] = {}
        self._rows = 0
        self._changed, self._arrivals = Condition(), Arrivals()
        self.begin = self.epoch = epoch
        """The epochs after `begin`, up to `epoch`, are retained."""

    def add(self, number: int, changes: Changes, ended: Collection[str] = ()) -> None:
        """Retain the changes of the next epoch. Views that `ended` with it have no continuous history across it."""
        rows = sum(change.rows for change in changes.handles())
        with self._changed:
            self._ended |= dict.fromkeys(ended, number)
            self._kept.append(_Epoch(number, changes, rows))
            self._rows, self.epoch = self._rows + rows, number
            while self._kept and (self._rows > self._most_rows or len(self._kept) > self._most_epochs):
                oldest = self._kept.popleft()
                self._rows, self.begin = self._rows - oldest.rows, oldest.number
            self._changed.notify_all()
        self._arrivals.tell()

    def since(self, position: int, view: str) -> tuple[int, list[tuple[int, ViewChange]]]:
        """Return the last epoch, and the changes of a view after a position. DelticError if they are not retained."""
        with self._changed:
            if position > self.epoch:
                raise DelticError(f"there is no epoch {position} yet: the last one is {self.epoch}")
            if position < self.begin:
                raise DelticError(
                    f"the changes of {view} since epoch {position} are no longer retained; those since epoch "
                    f"{self.begin} are: read the view as it is, and follow it from there, with since=pipeline.epoch"
                )
            if position < self._ended.get(view, 0):
                raise DelticError(
                    f"the changes of {view} since epoch {position} do not lead to its rows: with epoch "
                    f"{self._ended[view]} it was dropped, or got other columns; read the view as it is, and follow it "
                    "from there, with since=pipeline.epoch"
                )
            later = takewhile(lambda epoch: epoch.number > position, reversed(self._kept))
            result = [(epoch.number, change) for epoch in later if (change := epoch.changes.batch(view)) is not None]
            return self.epoch, result[::-1]

    def wait(self, position: int, timeout: float | None) -> bool:
        """Wait until there is an epoch after a position. Return whether there is."""
        with self._changed:
            return self._changed.wait_for(lambda: self.epoch > position, timeout)

    async def arrival(self, position: int) -> None:
        """Wait until there is an epoch after a position, without blocking a thread."""
        await self._arrivals.wait(lambda: self.epoch > position)

    def forget(self, epoch: int) -> None:
        """Start again after an epoch."""
        with self._changed:
            self._kept.clear()
            self._ended.clear()
            self._rows, self.begin, self.epoch = 0, epoch, epoch


class EpochChange(Delta):
    """The change of a view in one epoch: a Delta, with the number of the epoch."""

    def __init__(self, epoch: int, change: ViewChange, spark: SparkSession | None) -> None:
        super().__init__(change, spark)
        self.epoch = epoch


class Subscription:
    """Follows a view: each iteration gives the Changes that were not given yet, and ends where there are no more.

    `position` is the epoch up to which all was given: with it, `pipeline.changes(view, since=position)` goes on, in the
    same process. `wait` waits for the next epoch. With `async for` it does not end: it waits for what comes.
    """

    def __init__(
        self, view: str, schema: Schema, history: ChangeHistory, position: int, spark: SparkSession | None
    ) -> None:
        self.view, self.schema, self.position = view, schema, position
        self._history, self._spark = history, spark
        history.since(position, view)

    def __iter__(self) -> Iterator[EpochChange]:
        last, result = self._history.since(self.position, self.view)
        for epoch, change in result:
            yield EpochChange(epoch, change, self._spark)
            self.position = epoch
        self.position = last

    async def __aiter__(self) -> AsyncIterator[EpochChange]:
        while True:
            for change in self:
                yield change
            await self.arrival()

    async def arrival(self) -> None:
        """Wait until there is an epoch after `position`, without blocking a thread."""
        await self._history.arrival(self.position)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there is an epoch after `position`, at most `timeout` seconds. Return whether there is."""
        return self._history.wait(self.position, timeout)

    def __repr__(self) -> str:
        return f"the changes of {self.view} since epoch {self.position}"
