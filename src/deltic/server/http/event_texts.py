"""Changes of views as server-sent events, serialized once for all subscribers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from deltic.pipeline.epochs.history import EpochChange
from deltic.server.json_rows import dumped, weighted

_KEPT = 256
_MOST_BYTES = 1 << 20


def event(kind: str, data: Any, number: int | None = None) -> bytes:
    """A server-sent event; a client that reconnects sends the `number` of the last one it received."""
    identity = b"" if number is None else b"id: %d\n" % number
    return b"%sevent: %s\ndata: %s\n\n" % (identity, kind.encode(), dumped(data))


class EventTexts:
    """A cache of the last events; large ones are serialized for each subscriber."""

    def __init__(self) -> None:
        self._texts: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def of(self, view: str, change: EpochChange) -> bytes:
        """The event of a change of a view."""
        place = view, change.epoch
        if (known := self._texts.get(place)) is not None:
            return known
        text = event("change", {"epoch": change.epoch, **weighted(change.to_arrow())}, change.epoch)
        if len(text) <= _MOST_BYTES:
            self._texts[place] = text
            if len(self._texts) > _KEPT:
                self._texts.popitem(last=False)
        return text
