"""The drift of histories in rounds: the epoch's changes of a relation so far, as examinations read them.

All rows of a group are on one shard, with the relation that is computed from them, so the examinations of one store
(`engine.recursion.signed`) also work on a shard. The changes of the epoch are stored with the relation. An
examination reads its drift from there after rows were repacked, and in the next job.
"""

from __future__ import annotations

from collections.abc import Callable

from deltic.engine.recursion.signed.examination import Examinations
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.state import State


class Drifts:
    """The drifts of the examinations on one shard; `changed` returns the epoch's changes of a relation."""

    def __init__(self, examined: Examinations, changed: Callable[[State], Arrangement]) -> None:
        self._examined, self._changed = examined.by_source, changed
        self.forget()

    def forget(self) -> None:
        """Discard all that is in memory of the epoch."""
        self._packed: dict[str, tuple[Layout, ...]] = {}

    def keep_up(self) -> None:
        """Load the drift of all groups, in the present layout, if it is missing or rows were repacked."""
        for name, examination in self._examined.items():
            packed = tuple(part.layout for part in (examination.source, examination.target, examination.order))
            known = self._packed.get(name, ())
            if len(known) != len(packed) or any(a is not b for a, b in zip(known, packed, strict=True)):
                examination.begin()
                for run in self._changed(examination.source).runs:
                    examination.drifts(run)
                self._packed[name] = packed
