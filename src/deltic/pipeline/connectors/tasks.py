"""Sources that Spark tasks read: the driver determines the changes, and only has names of files and versions.

The work consists of units, each a file, a copy of one, or a version. Tasks convert their units to rows of the
table, by the same code as this process, and write them for the shards.
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
from deltic.pipeline.rows.posting import Sites
from deltic.pipeline.shards import slots
from deltic.pipeline.spark.spark import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.engine.executors.shards.messages import Message
    from deltic.engine.executors.shards.staged_rows import StagedRows, StagedWriter, StagingArea
    from deltic.engine.files.files import Files
    from deltic.pipeline.connectors.source import HeldRows

_LOG = logging.getLogger("deltic.sources")

FEW = 1 << 22
"""Up to this many bytes of files, this process reads them: a job takes longer to start."""
MUCH = 1 << 25
"""The least number of bytes for a task, if there are more tasks than can run at once."""

# The approximate bytes of a value of a table.
_VALUE = 8

ReadShares: TypeAlias = "Callable[[Files, Sequence[Any]], Iterator[tuple[pa.Table, Any]]]"
"""The rows of shares with weights, in parts, each with its description: None for a share that is not to be found.

May write files beside them. Travels.
"""


Compare: TypeAlias = "Callable[[CatalogTable, StagedRows, Beside], StagedRows | None]"
"""Returns the changes by which rows of tasks replace those of a table; None if this process must compute them."""


@dataclass(frozen=True)
class ReadUnit:
    """A unit of work, of roughly `size` bytes, which is sent to its task."""

    what: Any
    size: int


@dataclass(frozen=True)
class Tasks:
    """The tasks of a session, which read the sources of tables for which `sites` returns an area.

    They also `compare` the rows with those of the tables.
    """

    spark: SparkSession | None
    sites: Sites
    compare: Compare

    def site(self, table: CatalogTable, size: int) -> StagingArea | None:
        """Return the area where tasks write the rows of `size` bytes of files; None if this process must read them."""
        is_here = self.spark is None or size <= FEW or not table.schema.names
        return None if is_here else self.sites(table)

    def read(self, table: CatalogTable, shares: Sequence[ReadUnit], read: ReadShares) -> StagedRows | None:
        """Return the rows of all units, written by tasks; None if this process must read them."""
        site = self.site(table, sum(share.size for share in shares))
        return None if site is None else self.posted(site, shares, read, table)

    def posted(
        self, site: StagingArea, shares: Sequence[ReadUnit], read: ReadShares, table: CatalogTable
    ) -> StagedRows | None:
        """Return the rows of all units; None if a task has not found one, so that this process must read them.

        Raises DataError if they do not fit the table, or the job fails.
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
        """Return the changes by which rows that tasks have written replace those of a table.

        If both are small, this process computes them.
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


NO_TASKS = Tasks(None, lambda _: None, lambda *_: None)
"""This process reads all sources."""


def _groups(shares: Sequence[ReadUnit], at_once: int) -> list[list[Any]]:
    """Return the units by task, in groups of similar size: the largest first, each to the smallest group."""
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
    """Run a task for the groups with these numbers, and return its messages."""
    mine = [share for batch in batches for number in batch.column(0).to_pylist() for share in groups[number]]
    return posting.of(lambda files: read(files, mine))
