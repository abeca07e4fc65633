"""What tasks of an engine do for its tables before an epoch: take rows, compare them, and settle changes by key."""

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
    """Tasks that read and write where the shards of an engine do; between epochs alone."""

    def site(self, table: str) -> StagingArea:
        """Where tasks may write rows of a table for the next epoch."""

    def compared(self, table: str, rows: StagedRows, beside: Beside) -> StagedRows | None:
        """What comes and goes so that rows which tasks have written are in the table in place of others.

        None where this process is to find it.
        """

    def settled(
        self, table: str, changes: Sequence[RowChange | KeyedChange], conflicts: Conflicts, watermark: Watermark | None
    ) -> Batch | None:
        """What changes of a table amount to, one after the other, in weights.

        Those before the watermark are apart: the batch is Sifted. None where this process is to find it. Raises
        AbsentKeys and UnorderedKeys.
        """
