"""Subscriptions: the changes of a view by epoch, from any epoch whose changes are still retained.

Nothing is buffered for a subscriber. All of them read one history of the last epochs; a subscriber that falls behind it
is cut off, with its last position.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

from deltic.errors import DelticError
from deltic.pipeline.epochs.history import EpochChange, Subscription


class CutOffError(DelticError):
    """A subscription cannot continue after epoch `position`: it was too slow, or its view was redefined."""

    def __init__(self, message: str, position: int) -> None:
        self.position = position
        super().__init__(message)


class Follower:
    """One subscriber of a view: iteration gives an EpochChange for each epoch that changed it.

    A `for` loop ends after the last present change; `async for` waits for more. Raises CutOffError. `close`, or the end
    of a with-block, ends it.
    """

    def __init__(self, subscription: Subscription, client: str, end: Callable[[Follower], None]) -> None:
        self._subscription, self._end = subscription, end
        self.client, self.begun = client, datetime.now(UTC)

    @property
    def view(self) -> str:
        """The name of the view."""
        return self._subscription.view

    @property
    def position(self) -> int:
        """The epoch up to which all changes were given."""
        return self._subscription.position

    def go_on_from(self, epoch: int) -> None:
        """Skip to the changes after a later epoch."""
        self._subscription.position = max(self._subscription.position, epoch)

    async def arrival(self, timeout: float) -> None:
        """Wait for an epoch after `position`, for at most this many seconds, without blocking a thread."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._subscription.arrival()

    def __iter__(self) -> Iterator[EpochChange]:
        try:
            yield from self._subscription
        except DelticError as error:
            raise CutOffError(str(error), self.position) from error

    async def __aiter__(self) -> AsyncIterator[EpochChange]:
        try:
            async for change in self._subscription:
                yield change
        except DelticError as error:
            raise CutOffError(str(error), self.position) from error

    def close(self) -> None:
        """End the subscription."""
        self._end(self)

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
