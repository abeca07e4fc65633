"""A cache of a function of one value, a text by its id or a date by its day, of limited size.

A query to DuckDB takes one or two milliseconds even for few rows; a change with known texts takes none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from deltic.engine.operators.numbers import Array, Result
from deltic.engine.storage.layout import Values

_MOST = 1 << 16  # ids that are remembered


@dataclass(frozen=True)
class _Known:
    """The values of ids in ascending order, and which of them are undefined."""

    ids: Values = field(default_factory=lambda: np.empty(0, np.int64))
    values: Array = field(default_factory=lambda: np.empty(0, bool))
    undefined: Array = field(default_factory=lambda: np.empty(0, bool))

    def having(self, ids: Values, values: Array, undefined: Array | None) -> _Known:
        """Return these values and others, whose ids are new."""
        order = np.argsort(every := np.concatenate([self.ids, ids]), kind="stable")
        absent = np.concatenate([self.undefined, np.zeros(len(ids), bool) if undefined is None else undefined])
        return _Known(every[order], np.concatenate([self.values, values])[order], absent[order])

    def of(self, ids: Values) -> Result:
        """Return the values of known ids, and where they are undefined."""
        at = np.searchsorted(self.ids, ids)
        undefined = self.undefined[at]
        return self.values[at], undefined if undefined.any() else None


class ValueCache:
    """The values of a function by those of its operand, ids or days, up to a limit."""

    def __init__(self) -> None:
        self._known = _Known()

    def of(self, ids: Values, compute: Callable[[Values], Result]) -> Result:
        """Return the values for ids, and where they are undefined; `compute` gets distinct ids in ascending order."""
        wanted = np.unique(ids)
        known, new = self._known, np.setdiff1d(wanted, self._known.ids, assume_unique=True)
        if len(new) or not len(known.ids):  # of no rows, too, values have their own form
            if len(known.ids) + len(new) > _MOST:
                known, new = _Known(), wanted
            known = known.having(new, *compute(new))
            if len(known.ids) <= _MOST:
                self._known = known
        return known.of(ids)
