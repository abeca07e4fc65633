"""The watermark of a table: which of its changes are too late, told by their times, wherever they are."""

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
from deltic.engine.numbering import row_numbers

Mask = npt.NDArray[np.bool_]


@runtime_checkable
class LateSplit(Batch, Protocol):
    """A batch without the changes that are too late: whoever has made it has told them apart."""

    @property
    def latest(self) -> int | None:
        """The latest time of the rows that come; None where none has one."""

    @property
    def late(self) -> Batch:
        """The changes that are too late."""


@dataclass(frozen=True)
class Watermark:
    """The least time in `column` that is not too late, in the unit of the column; None before a row had one.

    `key` are the columns of the table's key: with a change that is late go all those of its key.
    """

    column: str
    key: tuple[str, ...]
    least: int | None

    @property
    def wants_keys(self) -> bool:
        """Whether lateness depends on all changes of a key."""
        return bool(self.key) and self.column not in self.key

    def before(self, rows: pa.Table) -> Mask:
        """Which rows, or keys, have a time before it; none where these have no times."""
        if self.least is None or self.column not in rows.column_names:
            return np.zeros(len(rows), np.bool_)
        result: Mask = np.asarray(pc.fill_null(pc.less(as_numbers(rows.column(self.column)), self.least), False))
        return result

    def late(self, rows: pa.Table) -> Mask:
        """Which changes are before it, or of a key that has one which is."""
        gone = self.before(rows)
        if self.wants_keys and gone.any():
            numbers = row_numbers(rows, self.key)
            gone = np.isin(numbers, numbers[gone])
        return gone

    def latest(self, batch: Batch) -> int | None:
        """The latest time of the rows of a batch that come."""
        if isinstance(batch, LateSplit):
            return batch.latest
        return max(self._latest(batch), default=None)

    def _latest(self, batch: Batch) -> Iterator[int]:
        for rows in batch.parts():
            if (time := self.latest_of(rows)) is not None:
                yield time

    def latest_of(self, rows: pa.Table) -> int | None:
        """The same of rows with weights."""
        come = rows.filter(pc.greater(rows.column(WEIGHT), 0))
        result: int | None = pc.max(as_numbers(come.column(self.column))).as_py()
        return result


def as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as integers, in the unit of their column."""
    return column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(column.type) else column.cast(pa.int64())
