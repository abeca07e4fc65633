"""The tasks of an engine for its tables before an epoch: they take rows, compare them, and resolve changes by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from deltic.engine.batches import Batch
    from deltic.engine.comparing import Beside
    from deltic.engine.conflicts import Conflicts
    from deltic.engine.executors.shards.staged_rows import StagedRows, StagingArea
    from deltic.engine.keyed import KeyedChange, RowChange
    from deltic.engine.watermark import Watermark


class TableTasks(Protocol):
    """Tasks that read and write in the shards' storage, only between epochs."""

    def site(self, table: str) -> StagingArea:
        """Return the area where tasks may write rows of a table for the next epoch."""

    def compared(self, table: str, rows: StagedRows, beside: Beside) -> StagedRows | None:
        """Return the changes by which rows that tasks have written replace others in the table.

        None if this process must compute them.
        """

    def settled(
        self, table: str, changes: Sequence[RowChange | KeyedChange], conflicts: Conflicts, watermark: Watermark | None
    ) -> Batch | None:
        """Return the net effect of a table's changes, applied in order, as rows with weights.

        Changes before the watermark are separate: the batch is a LateSplit. None if this process must compute it.
        Raises AbsentKeys and UnorderedKeys.
        """
