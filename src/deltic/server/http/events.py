"""The changes of a view as a stream of server-sent events, serialized once for all subscribers."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Send

from deltic.circuit.tables import WEIGHT
from deltic.errors import DelticError
from deltic.pipeline.epochs.history import EpochChange
from deltic.server.following import CutOffError, Follower
from deltic.server.http.call import HttpCall
from deltic.server.json_rows import columns_of, dumped, weighted

_SIGN_OF_LIFE = 15.0
"""Seconds after which a stream in which nothing happens says so."""
_STALLED = 60.0
"""Seconds after which a client that takes nothing is left."""
_GLANCE = 1.0
_LARGE = 2_000
"""Rows of a change that are made a text in a thread, so that other clients do not wait."""
_KEPT = 256
"""This many events are kept for other subscribers, without those of more than `_MOST_BYTES`."""
_MOST_BYTES = 1 << 20


class ChangeEvents:
    """The streams of changes of a server."""

    def __init__(self) -> None:
        self._texts: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    async def respond(self, call: HttpCall) -> StreamingResponse:
        """Return how each epoch changes a view, as events `change`; `error` where the subscriber is cut off."""
        name, last = call.name, call.request.headers.get("last-event-id", "")
        if last and not last.isdecimal():
            raise DelticError(f"Last-Event-ID is {last!r}; it is the number of an epoch")
        since = int(last) if last else call.number("since")
        follower = call.service.subscribe(name, since, call.client)
        return _EventStream(self, call, follower, with_rows=call.truth("snapshot") and not last)

    def text(self, view: str, change: EpochChange) -> bytes:
        """Return the event of a change of a view."""
        place = view, change.epoch
        if (known := self._texts.get(place)) is not None:
            return known
        text = _event("change", {"epoch": change.epoch, **weighted(change.to_arrow())}, change.epoch)
        if len(text) <= _MOST_BYTES:
            self._texts[place] = text
            if len(self._texts) > _KEPT:
                self._texts.popitem(last=False)
        return text


def _event(kind: str, data: Any, number: int | None = None) -> bytes:
    """Return a server-sent event; a client that reconnects sends the `number` of the last one it received."""
    identity = b"" if number is None else b"id: %d\n" % number
    return b"%sevent: %s\ndata: %s\n\n" % (identity, kind.encode(), dumped(data))


class _EventStream(StreamingResponse):
    """Sends changes until the subscriber leaves, stalls or is cut off, or the server stops."""

    def __init__(self, events: ChangeEvents, call: HttpCall, follower: Follower, with_rows: bool) -> None:
        self._all, self._call, self._follower, self._with_rows = events, call, follower, with_rows
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(self._events(), media_type="text/event-stream", headers=headers)

    async def stream_response(self, send: Send) -> None:
        async def patiently(message: object) -> None:
            async with asyncio.timeout(_STALLED):
                await send(message)  # type: ignore[arg-type]

        try:
            await super().stream_response(patiently)
        except TimeoutError:
            reason = f"{self._follower.client} took nothing for {_STALLED:g} s, after epoch {self._follower.position}"
            self._call.service.activity.error("subscription", reason, self._follower.view)
        finally:
            self._follower.close()

    async def _events(self) -> AsyncIterator[bytes]:
        yield b": the changes follow\n\n"
        if self._with_rows:
            yield await self._call.service.in_thread(self._rows)
        try:
            async for text in self._changes():
                yield text
        except CutOffError as error:
            self._call.service.activity.error("subscription", str(error), self._follower.view)
            yield _event("error", {"error": str(error), "position": error.position})

    def _rows(self) -> bytes:
        """Return all rows, as of the epoch after which the changes follow."""
        service, name = self._call.service, self._follower.view
        answer = service.look(lambda seen: seen[name].rows(counted=True))
        self._follower.go_on_from(answer.epoch)
        rows = answer.rows.to_arrow()
        columns = columns_of(rows.drop_columns([WEIGHT]))
        return _event("rows", {"epoch": answer.epoch, "columns": columns, **weighted(rows)}, answer.epoch)

    async def _changes(self) -> AsyncIterator[bytes]:
        service, follower, text = self._call.service, self._follower, self._all.text
        silent_since = time.monotonic()
        while not service.is_closing:
            for change in follower:
                if change.count() > _LARGE:
                    yield await service.in_thread(text, follower.view, change)
                else:
                    yield text(follower.view, change)
                silent_since = time.monotonic()
            if time.monotonic() - silent_since > _SIGN_OF_LIFE:
                silent_since = time.monotonic()
                yield b": nothing changed\n\n"
            await follower.arrival(_GLANCE)
