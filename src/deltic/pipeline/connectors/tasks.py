"""Sources that tasks of Spark read: the driver finds what is new, and has names of files and versions alone.

What is to be read are shares, each a file, a copy of one, or a version. Tasks that have some of them make rows of the
table of these, by the very code by which this process would, and write them for the shards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.engine.comparing import EVERYTHING, Beside, compared
from deltic.engine.keyed import Keyed
from deltic.errors import DataError, Diagnostic
from deltic.pipeline.shards import slots
from deltic.pipeline.spark.posting import Sites
from deltic.pipeline.spark.spark import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.engine.executors.shards.messages import Message
    from deltic.engine.executors.shards.staged_rows import StagedRows, StagedWriter, StagingArea
    from deltic.engine.files.files import Files
    from deltic.pipeline.connectors.source import HeldRows

_LOG = logging.getLogger("deltic.sources")

FEW = 1 << 22
"""The bytes of files up to which this process reads them: a job takes longer to start."""
MUCH = 1 << 25
"""The bytes that a task is to read at least, where there are more of them than run at once."""

# The bytes that a value of a table takes, about.
_VALUE = 8

ReadShares: TypeAlias = "Callable[[Files, Sequence[Any]], Iterator[tuple[pa.Table, Any]]]"
"""The rows of shares with weights, in parts, each with its description: None for a share that is not to be found.

May write files beside them. Travels.
"""


Compare: TypeAlias = "Callable[[CatalogTable, StagedRows, Beside], StagedRows | None]"
"""What rows that tasks have written amount to beside those of a table; None where this process is to find it."""


@dataclass(frozen=True)
class ReadUnit:
    """Something to be read, of about so many bytes; it travels to its task."""

    what: Any
    size: int


@dataclass(frozen=True)
class Tasks:
    """The tasks of a session, which read sources of tables where `sites` has a place for the rows.

    They also `compare` what they have read with the rows of the tables.
    """

    spark: SparkSession | None
    sites: Sites
    compare: Compare

    def site(self, table: CatalogTable, size: int) -> StagingArea | None:
        """Where tasks write the rows of so many bytes of files; None where this process is to read them."""
        is_here = self.spark is None or size <= FEW or not table.schema.names
        return None if is_here else self.sites(table)

    def posted(
        self, site: StagingArea, shares: Sequence[ReadUnit], read: ReadShares, table: CatalogTable
    ) -> StagedRows | None:
        """The rows of all shares; None where a task has not found one, so that this process is to read them.

        Raises DataError where they are not those of the table, or the job fails.
        """
        from deltic.engine.executors.shards.staged_rows import StagedRows
        from deltic.engine.executors.spark.job import run_over

        assert self.spark is not None
        groups = _groups(shares, slots(self.spark))
        numbers, task = self.spark.range(0, len(groups), 1, len(groups)), partial(_read, site.posting, groups, read)
        with spark_errors(lambda reason: DataError([Diagnostic(f"table {table.name}: its source: {reason}")])):
            posted = StagedRows.by(site, lambda: run_over(numbers, task, f"Deltic: the source of {table.name}"))
        if None in posted.report.about:
            _LOG.warning("table %s: tasks do not see all of its source; the driver reads it", table.name)
            return None
        return posted

    def compared(
        self, table: CatalogTable, posted: StagedRows, held: HeldRows, beside: Beside = EVERYTHING
    ) -> pa.Table | StagedRows:
        """What rows that tasks have written amount to beside those that a table has.

        Where both are few this process finds it.
        """
        if held.is_empty:
            return posted
        if max(posted.nbytes, held.rows * len(table.schema) * _VALUE) > FEW:
            result = self.compare(table, posted, beside)
            if result is not None:
                result.report.read += posted.report.read
                result.report.written += posted.report.written
                return result
        return compared(Keyed(table.name, table.key), posted.to_arrow(), held.version, beside)


def _groups(shares: Sequence[ReadUnit], at_once: int) -> list[list[Any]]:
    """The shares by task, each as large as the others, about: the largest first, to the task that has the least."""
    count = max(1, min(len(shares), max(at_once, sum(share.size for share in shares) // MUCH)))
    groups: list[list[Any]] = [[] for _ in range(count)]
    least = [(0, number) for number in range(count)]
    for share in sorted(shares, key=lambda share: -share.size):
        size, number = heappop(least)
        groups[number].append(share.what)
        heappush(least, (size + share.size + 1, number))
    return groups


def _read(
    posting: StagedWriter, groups: Sequence[Sequence[Any]], read: ReadShares, batches: Iterable[pa.RecordBatch]
) -> Iterator[Message]:
    """The messages of a task, to which the numbers of its groups are given."""
    mine = [share for batch in batches for number in batch.column(0).to_pylist() for share in groups[number]]
    return posting.of(lambda files: read(files, mine))
