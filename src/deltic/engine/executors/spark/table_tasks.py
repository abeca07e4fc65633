"""Spark's tasks for the tables of shards before an epoch; see `TableTasks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeGuard
from uuid import uuid4

from deltic.engine.batches import Batch, Changed
from deltic.engine.comparing import Beside
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection, exclusive
from deltic.engine.executors.executor import Host
from deltic.engine.executors.shards.inquiries import Comparison, Settled, Settlement
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.staged_rows import MessageBatch, RowSplit, StagedRows, StagingArea
from deltic.engine.executors.spark.compacting import RunEach
from deltic.engine.files.files import Files
from deltic.engine.keyed import Keyed, KeyedChange, RowChange, with_order
from deltic.engine.options import Options
from deltic.engine.prepared import refuse_second
from deltic.engine.watermark import Watermark


class TaskShards(Protocol):
    """Shards whose state tasks read from files; see `SparkShards`."""

    placed: PlacedProgram
    directory: Files
    files: Files
    states: Mapping[int, str]
    run_each: RunEach | None
    few: int
    before_jobs: Callable[[], None]
    host: Host

    def is_posted(self, batch: Changed, table: str) -> TypeGuard[MessageBatch]:
        """Return whether tasks have written a batch as the shards of this program read it."""

    def write_for_tasks(self) -> None:
        """Write the committed state to files, if it is ahead of them."""


class SparkTasks:
    """The tasks of some shards."""

    def __init__(self, shards: TaskShards) -> None:
        self._shards = shards

    @property
    def section(self) -> CriticalSection:
        """What lets one thread at a time work on the state."""
        return self._shards.host.section

    def site(self, table: str) -> StagingArea:
        """Return the area where tasks may write one batch of a table's rows, beside the state.

        Raises DelticError if the executors cannot run tasks.
        """
        self._shards.before_jobs()
        placed = self._shards.placed
        name = placed.program.tables[table]
        split = RowSplit(name, placed.plan.placed[name].key, placed.options.shards)
        keys = placed.options.keys[name] if placed.has_keys(name) else ()
        return StagingArea(
            self._shards.directory.below(uuid4().hex), placed.program.relations[name].schema, split, keys
        )

    @exclusive
    def compared(self, table: str, rows: StagedRows, beside: Beside) -> StagedRows | None:
        """Compare with the tables as they are in files. Raises the errors of tasks."""
        run = self._shards.run_each
        if run is None or not self._shards.is_posted(rows, table):
            return None
        self._begin()
        site = self.site(table)
        tasks = [
            Comparison(*self._of_shard(number, table), site.posting, rows.of_shard(number), beside)
            for number in range(self._shards.placed.options.shards)
        ]
        return StagedRows.by(site, lambda: run(tasks, f"comparison of {table} with its source"))

    @exclusive
    def settled(
        self, table: str, changes: Sequence[RowChange | KeyedChange], conflicts: Conflicts, watermark: Watermark | None
    ) -> Settled | None:
        """Run a job if more than `few` rows are elsewhere, and all rows of a key are on one shard; otherwise return
        None.
        """
        site, run = self.site(table), self._shards.run_each
        wants_keys = any(isinstance(change, KeyedChange) or change.is_by_key for change in changes)
        wants_keys = wants_keys or (watermark is not None and watermark.wants_keys)
        if run is None or site.split.key is None or (wants_keys and not site.has_keys):
            return None
        elsewhere = [c.rows for c in changes if isinstance(c, RowChange) and isinstance(c.rows, MessageBatch)]
        if sum(rows.count() for rows in elsewhere) <= self._shards.few:
            return None
        if not all(self._shards.is_posted(rows, table) for rows in elsewhere):
            return None
        self._begin()
        as_messages = [self._as_messages(change) for change in changes]
        keyed = Keyed(table, tuple(site.schema.names[column] for column in site.keys))
        tasks = [
            Settlement(
                *self._of_shard(number, table),
                site.posting,
                keyed,
                [replace(change, rows=_of_shard(change.rows, number)) for change in as_messages],
                site.nothing,
                conflicts,
                watermark,
            )
            for number in range(self._shards.placed.options.shards)
        ]
        settled = Settled.by(site, lambda: run(tasks, f"settlement of the changes of {table}"))
        for rows in (change.rows for change in as_messages if isinstance(change.rows, StagedRows)):
            settled.report.read += rows.report.read
            settled.report.written += rows.report.written
        return settled

    def _as_messages(self, change: RowChange | KeyedChange) -> RowChange:
        """Return a change of a table whose rows are in messages. Rows of this process are written for shards now."""
        if isinstance(change, RowChange) and isinstance(change.rows, MessageBatch):
            return change
        site, updates = self.site(change.table), tuple[str, ...]()
        if isinstance(change, KeyedChange):
            updates = tuple(change.rows.column_names) if change.kind == "update" else ()
            site, rows = site.by_key(True), change.spread(site.schema.to_arrow())
        elif change.is_by_key:
            site, rows = site.by_key(True), with_order(change.rows.to_arrow())
        else:
            rows = change.rows.to_arrow()
        return RowChange(
            change.table, StagedRows.by(site, lambda: site.posting.of(lambda files: [(rows, None)])), updates
        )

    def _begin(self) -> None:
        """Write the state to files, between epochs."""
        refuse_second(self._shards.host.prepared)
        self._shards.write_for_tasks()

    def _of_shard(self, number: int, table: str) -> tuple[ShardPlan, Options, str, int, str | None, str]:
        """Return the common arguments of a shard's inquiries about a table."""
        shards, placed = self._shards, self._shards.placed
        state, name = shards.states.get(number), placed.program.tables[table]
        return placed.plan, placed.options, shards.files.place, number, state, name


def _of_shard(rows: Batch, number: int) -> MessageBatch:
    assert isinstance(rows, MessageBatch)
    return rows.of_shard(number)
