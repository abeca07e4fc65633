"""The drift of histories in rounds: what the epoch has changed of a relation so far, as examinations read it.

All rows of a group are on one shard, with what is computed from them, so the examinations of one store
(`engine.recursion.signed`) are those of a shard. The changes of the epoch are kept with the relation: an
examination takes its drift from there when rows are packed in another way, or in the next job.
"""

from __future__ import annotations

from collections.abc import Callable

from deltic.engine.recursion.signed.examination import Examinations
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.state import State


class Drifts:
    """The drifts of the examinations on one shard; `changed` has what the epoch has changed of a relation."""

    def __init__(self, examined: Examinations, changed: Callable[[State], Arrangement]) -> None:
        self._examined, self._changed = examined.by_source, changed
        self.forget()

    def forget(self) -> None:
        """Have nothing of the epoch in memory."""
        self._packed: dict[str, tuple[Layout, ...]] = {}

    def keep_up(self) -> None:
        """Have the drift of all groups, packed as their rows are now."""
        for name, examination in self._examined.items():
            packed = tuple(part.layout for part in (examination.source, examination.target, examination.order))
            known = self._packed.get(name, ())
            if len(known) != len(packed) or any(a is not b for a, b in zip(known, packed, strict=True)):
                examination.begin()
                for run in self._changed(examination.source).runs:
                    examination.drifts(run)
                self._packed[name] = packed
