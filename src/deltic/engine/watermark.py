"""The watermark of a table, which decides by time which of its changes are too late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import Batch
from deltic.engine.keyed import row_numbers

Mask = npt.NDArray[np.bool_]


@runtime_checkable
class LateSplit(Batch, Protocol):
    """A batch without changes that are too late, which have been split off."""

    @property
    def latest(self) -> int | None:
        """The latest time of the inserted rows; None if none has one."""

    @property
    def late(self) -> Batch:
        """The changes that are too late."""


@dataclass(frozen=True)
class Watermark:
    """The least time in `column` that is not too late, in the unit of the column; None before any row had one.

    `key` are the columns of the table's key: if one change of a key is late, all changes of that key are.
    """

    column: str
    key: tuple[str, ...]
    least: int | None

    @property
    def wants_keys(self) -> bool:
        """Return whether lateness depends on all changes of a key."""
        return bool(self.key) and self.column not in self.key

    def before(self, rows: pa.Table) -> Mask:
        """Return the mask of the rows, or keys, with a time before it; none if they have no times."""
        if self.least is None or self.column not in rows.column_names:
            return np.zeros(len(rows), np.bool_)
        result: Mask = np.asarray(pc.fill_null(pc.less(as_numbers(rows.column(self.column)), self.least), False))
        return result

    def late(self, rows: pa.Table) -> Mask:
        """Return the mask of the changes that are before it, or whose key has such a change."""
        gone = self.before(rows)
        if self.wants_keys and gone.any():
            numbers = row_numbers(rows, self.key)
            gone = np.isin(numbers, numbers[gone])
        return gone

    def latest(self, batch: Batch) -> int | None:
        """Return the latest time of the inserted rows of a batch."""
        if isinstance(batch, LateSplit):
            return batch.latest
        return max(self._latest(batch), default=None)

    def _latest(self, batch: Batch) -> Iterator[int]:
        for rows in batch.parts():
            if (time := self.latest_of(rows)) is not None:
                yield time

    def latest_of(self, rows: pa.Table) -> int | None:
        """Return the latest time of the inserted rows, given rows with weights."""
        come = rows.filter(pc.greater(rows.column(WEIGHT), 0))
        result: int | None = pc.max(as_numbers(come.column(self.column))).as_py()
        return result


def as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times as integers, in the unit of their column."""
    return column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(column.type) else column.cast(pa.int64())
