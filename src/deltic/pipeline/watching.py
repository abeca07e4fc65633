"""What a pipeline reports: its epochs, plans, changes of views, sizes, metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from deltic.catalog import External
from deltic.circuit.graph import Circuit
from deltic.engine.batches import TableBatch
from deltic.engine.maintenance import RelationPlan
from deltic.engine.result import EpochResult
from deltic.engine.size import Size
from deltic.errors import DelticError
from deltic.pipeline.changing import Changing
from deltic.pipeline.connectors.declared import Publication
from deltic.pipeline.epochs.history import Subscription
from deltic.pipeline.epochs.lateness import watermarks
from deltic.pipeline.epochs.report import EpochReport, report_of
from deltic.pipeline.explaining import PlanText, explained
from deltic.pipeline.names import find
from deltic.pipeline.observing import Metrics, MetricsServer, sizes_table
from deltic.pipeline.reading.reading import PublishedEpoch
from deltic.pipeline.reading.reasons import RowPattern, bound
from deltic.pipeline.reading.rows import Rows
from deltic.pipeline.reading.snapshot import Preview, Snapshot
from deltic.values import to_arrow
from deltic.values.types import Schema


class Watching(Changing):
    """Has epochs and sources to read, explains views and follows them, and measures what is kept."""

    @property
    def epoch(self) -> int:
        """The number of the last epoch: every transaction is one, and every change of definitions once there is one.

        It is 0 before the first one. What follows from facts alone is an epoch, too, when somebody reads before then.
        """
        return self._epochs.last.version.epoch

    def snapshot(self) -> Snapshot:
        """The tables and views as they are now, to read several of them as of one epoch."""
        self._version()
        return self._snapshot(self._epochs.last)

    def at(self, epoch: int) -> Snapshot:
        """The tables and views as of an epoch that is retained: of the last `retain` ones, as the pipeline was told.

        Raises DelticError for others, which says which are.
        """
        return self._snapshot(self._epochs.at(epoch))

    def _snapshot(self, published: PublishedEpoch) -> Snapshot:
        return Snapshot(published, self._engine_of, self.spark)

    @property
    def place(self) -> str | None:
        """Where the state is kept; None for memory."""
        return self._place

    @property
    def positions(self) -> Mapping[str, Any]:
        """How far sources have been read: what transactions said of them, the last word on each."""
        return self._epochs.positions

    @property
    def watermarks(self) -> dict[str, Any]:
        """For each table with a lateness the time before which rows are late, None before it has had a row."""
        return watermarks(self.catalog, self._version())

    @property
    def sources(self) -> Mapping[str, External]:
        """Where the rows of tables come from that are refreshed, by the names of the tables."""
        return self._definitions.sources

    @property
    def publications(self) -> tuple[Publication, ...]:
        """Which views are published, and where."""
        return self._definitions.outside.publications

    def explain(self, name: str, full: bool = False) -> PlanText:
        """How a view is kept fresh: what its parts cost and keep, and its delta queries; notebooks draw its circuit.

        `full`: also its circuit before and after, why that is right, and the plan of each delta query.
        """
        self._check_view(name)
        pushed = self._evolving.pushed if self._engines.maintenance.demand else None
        return explained(
            name, full, self._epochs.engine, self._definitions, self._engines.recursion, pushed, self._engines.bound
        )

    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        """What `explain` says of a view's relations and delta queries, as data: rows visited, expected and actual.

        Tables come first, what follows from them later, the view last. It is empty where the rows are on shards.
        """
        self._check_view(name)
        self._version()
        return self._epochs.engine.maintenance(name)

    def impact(self, table: str, row: RowPattern) -> Preview:
        """What would change without the rows of a table that have these values; nothing is committed.

        `preview.of(view)` has the rows of a view that would go, or come. Raises DelticError where no row has them.
        """
        schema = find(table, "table", self.tables)
        there = self._version().lookup_all(table, _keys(table, schema, row))
        if not len(there):
            raise DelticError(f"{table} has no row with these values: nothing depends on it")
        change = self.transaction()
        with change:
            change.delete(table, there)
            preview = change.preview()
            change.discard()
        return preview

    def needed(self, name: str, row: RowPattern) -> list[tuple[str, tuple[Any, ...]]]:
        """The rows of tables without any one of which the row would go, whatever its other derivations: (table, row).

        Each row that its explanation ends in is taken away for a trial, which costs what its change costs.
        """
        explanation = self.why(name, row)
        wanted = dict(zip(explanation.root.columns, explanation.root.row, strict=True))
        if name in self.catalog.tables and explanation.root.by == "table":
            return explanation.leaves()
        return [
            (table, leaf)
            for table, leaf in explanation.leaves()
            if not len(self.impact(table, leaf)._version().lookup(name, wanted))
        ]

    def circuit(self, name: str | None = None) -> Circuit:
        """The circuit of one view, or of all views together."""
        if name is None:
            return self.catalog.circuit
        self._check_view(name)
        return self.catalog.circuit_of(name)

    def changes(self, view: str, since: int | None = None) -> Subscription:
        """Follow a view: how each epoch after `since` has changed it, or each one after the present one.

        The changes of the last 1,000 epochs are there, of at most a million rows together. Raises DelticError for an
        epoch before these, or that has not been.
        """
        self._check_view(view)
        self._version()
        position = self.epoch if since is None else since
        return Subscription(view, self.views[view], self._epochs.history, position, self.spark)

    def sizes(self, timeout: float | None = None) -> Rows:
        """The memory of the state: for each relation and each order in which it is kept, the entries and the bytes.

        Beside tables and views these are the relations of the plan, by the names that `explain` has for them. Raises
        BusyError where an epoch takes longer than `timeout`, or that of all transactions, in seconds.
        """
        return Rows(TableBatch(sizes_table(self._sizes(timeout))), self.spark)

    def views_by_relation(self) -> Mapping[str, tuple[str, ...]]:
        """For each relation of the plan the views that it is, or else the views next above it that need it.

        With it, what `report.work` and `sizes` have becomes that of views. A table stands for itself.
        """
        return self._epochs.engine.views_by_relation()

    def serve_metrics(self, port: int = 9464, host: str = "127.0.0.1") -> MetricsServer:
        """Serve numbers of epochs and state from now on, in Prometheus' text format, at http://HOST:PORT/metrics.

        Port 0 is any free one. What is returned has the `port`, and ends it by `close` or at the end of a with-block.
        """
        return MetricsServer(self.metrics(), host, port)

    def metrics(self) -> Metrics:
        """Numbers of epochs, from now on until `close`, and of the state: its `text` is in Prometheus' text format."""
        version = self._version()
        rows = {view: version.count(view) for view in self.views}
        return Metrics(rows, self._sizes, lambda: self.watermarks, self._epochs.observers)

    def observe(self, receive: Callable[[EpochReport], None]) -> Callable[[], None]:
        """Call `receive` with the report of each epoch from now on, in the thread that commits it; it raises nothing.

        What is returned ends that.
        """

        def observer(number: int, result: EpochResult) -> None:
            receive(report_of(result, number))

        self._epochs.observers.append(observer)
        return partial(self._epochs.observers.remove, observer)

    def _sizes(self, timeout: float | None = None) -> list[Size]:
        with self._epochs.writing(timeout):
            return self._epochs.engine.sizes()


def _keys(table: str, schema: Schema, row: RowPattern) -> pa.Table:
    """One key for a look-up."""
    values = bound(table, schema, row)
    columns = [to_arrow([value], schema.types[name]) for name, value in values.items()]
    return pa.table(columns, names=list(values))
