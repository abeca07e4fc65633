"""A cache of a function of one value, a text by its id or a date by its day, of limited size.

A query to DuckDB takes one or two milliseconds even for few rows; a change with known texts takes none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from deltic.engine.kernels import remembered as kernel
from deltic.engine.operators.numbers import Array, Result
from deltic.engine.storage.columns import Values

_MOST = 1 << 16  # ids that are remembered


@dataclass(frozen=True)
class _Known:
    """The values of ids, which of them are undefined, and a hash table of the ids, see `kernels.remembered`."""

    ids: Values = field(default_factory=lambda: np.empty(0, np.int64))
    values: Array = field(default_factory=lambda: np.empty(0, bool))
    undefined: Array = field(default_factory=lambda: np.empty(0, bool))
    slots: Values = field(default_factory=lambda: np.zeros(1, np.int64))

    def having(self, new: Values, values: Array, undefined: Array | None) -> _Known:
        """Return these values and others, whose ids are new."""
        ids, absent = np.concatenate([self.ids, new]), np.zeros(len(new), bool) if undefined is None else undefined
        has_room = 2 * len(ids) < len(self.slots)
        slots = self.slots.copy() if has_room else np.zeros(2 << len(ids).bit_length(), np.int64)
        kernel.enter(ids, len(self.ids) if has_room else 0, slots)
        return _Known(ids, np.concatenate([self.values, values]), np.concatenate([self.undefined, absent]), slots)

    def places(self, ids: Values) -> Values:
        """Return the places of ids, -1 for those that are unknown."""
        return kernel.find(np.ascontiguousarray(ids, np.int64), self.ids, self.slots)

    def of(self, places: Values) -> Result:
        """Return the values at places, and where they are undefined."""
        undefined = self.undefined[places]
        return self.values[places], undefined if undefined.any() else None


class ValueCache:
    """The values of a function by those of its operand, ids or days, up to a limit."""

    def __init__(self) -> None:
        self._known = _Known()

    def of(self, ids: Values, compute: Callable[[Values], Result]) -> Result:
        """Return the values for ids, and where they are undefined; `compute` gets distinct ids in ascending order."""
        known, places = self._known, self._known.places(ids)
        unknown = places < 0
        if unknown.any() or not len(known.ids):  # of no rows, too, values have their own form
            if len(known.ids) + len(new := np.unique(ids[unknown])) > _MOST:
                known, new = _Known(), np.unique(ids)
            known = known.having(new, *compute(new))
            if len(known.ids) <= _MOST:
                self._known = known
            places = known.places(ids)
        return known.of(places)
