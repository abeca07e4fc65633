"""The parts of a pipeline, its transactions, and its reports: epochs, plans, changes of views, sizes, metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from deltic.catalog import External
from deltic.circuit.graph import Circuit
from deltic.engine.batches import TableBatch
from deltic.engine.conflicts import Conflicts
from deltic.engine.lateness import LatePolicy
from deltic.engine.maintenance import RelationPlan, Size
from deltic.engine.protocol import Engine
from deltic.engine.result import EpochResult
from deltic.pipeline.connectors.written import Publication
from deltic.pipeline.durability.state_keeper import StateKeeper
from deltic.pipeline.engines import Engines
from deltic.pipeline.epochs.active_transactions import ActiveTransactions
from deltic.pipeline.epochs.clock import Clock
from deltic.pipeline.epochs.epochs import Epochs
from deltic.pipeline.epochs.history import Subscription
from deltic.pipeline.epochs.lateness import watermarks
from deltic.pipeline.epochs.observing import sizes_table
from deltic.pipeline.epochs.report import EpochReport, report_of
from deltic.pipeline.epochs.snapshot import Snapshot, Trying
from deltic.pipeline.epochs.transaction import Transaction, TransactionTerms, what_ifs
from deltic.pipeline.evolving import DefinitionChanger
from deltic.pipeline.explaining import PlanText, explained
from deltic.pipeline.names import check_choice
from deltic.pipeline.options import Time, Transactions
from deltic.pipeline.reading.reading import PublishedEpoch
from deltic.pipeline.rows.rows import Rows

if TYPE_CHECKING:
    from deltic.pipeline.metrics import Metrics, MetricsServer


_CONFLICTS, _LATE = get_args(Conflicts), get_args(LatePolicy)


class Watching(Trying):
    """Opens transactions, explains views and follows them, and measures what is kept.

    Here are the parts of a pipeline that all its methods share.
    """

    _epochs: Epochs
    _evolving: DefinitionChanger
    _engines: Engines
    _keeping: StateKeeper
    _opened: ActiveTransactions
    _clock: Clock
    _terms: Transactions
    """What transactions do unless they say otherwise."""

    def _engine_of(self, circuit: Circuit, clock: Clock | None = None) -> Engine:
        """Return an engine for one answer, at the present time or that of a clock."""
        return (clock or self._clock).show(self._engines.for_answer(circuit), circuit)

    def transaction(
        self,
        conflicts: Conflicts | None = None,
        token: str = "",
        positions: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        late: LatePolicy | None = None,
    ) -> Transaction:
        """Return a transaction, for a with-block: all changes made in it are one epoch, or none takes effect.

        Several threads may each have one open; they commit one after the other, each on the result of the last.
        `conflicts`, `timeout` and `late` override those of the pipeline. The end of the block raises ChangeError where
        the changes conflict with the tables, DataError where values of statements do not fit, and BusyError after
        waiting `timeout` seconds for other threads. After any exception tables and views are unchanged.

        `positions` record by name how far sources have been read, as JSON. The epoch stores them, and the `token`.
        """
        return self._noted(self._transaction(conflicts, timeout, token, positions or {}, late=late))

    def open_transaction(self) -> Transaction:
        """Return an open transaction that belongs to no thread, for a server with one per client.

        `commit` or `discard` ends it, in any thread; `pipeline.epochs.grouping` says which may be committed together.
        """
        return self._transaction(None, None).__enter__()

    def advance(self, to: Time | None = None) -> Transaction:
        """Run an epoch in which only time passes: `current_timestamp` becomes `to`, or the machine's time.

        `to` is a datetime, or a text such as "2026-03-01T12:30:00Z", in UTC without a zone. Unless the pipeline was
        made with a fixed time, the machine's time applies again once it is later. Raises DelticError for a time before
        that of the last epoch.
        """
        if to is not None:
            self._clock.advance(to, self.catalog, self._epochs.engine)
        with self.transaction() as change:
            pass
        return change

    def what_if(self, conflicts: Conflicts | None = None, timeout: float | None = None) -> Transaction:
        """Return a transaction that its block discards at the end, unless you call its `commit`.

        Its `preview` has the tables and views as they would be, and their changes. It blocks no other transaction, and
        previews changes of a read-only state too.
        """
        return self._noted(self._transaction(conflicts, timeout, is_kept=False))

    def _noted(self, made: Transaction) -> Transaction:
        """Note a transaction as the open one of this thread or task; raises DelticError where it has another."""
        self._opened.refuse("transactions do not nest")
        self._opened.note(made)
        return made

    def _transaction(
        self,
        conflicts: Conflicts | None,
        timeout: float | None,
        token: str = "",
        positions: Mapping[str, Any] | None = None,
        is_kept: bool = True,
        late: LatePolicy | None = None,
    ) -> Transaction:
        if is_kept or not self._keeping.is_readonly:
            self._keeping.refuse_change()
        if not self._epochs.have_begun:
            self._engines.recursion.check(self.catalog)
        chosen = conflicts or self._terms.conflicts
        check_choice(chosen, "policy for conflicts", _CONFLICTS)
        chosen_late = late or self._terms.late
        check_choice(chosen_late, "policy for late rows", _LATE)
        refuse = self._keeping.refuse_change
        terms = TransactionTerms(chosen, timeout, token, positions or {}, is_kept, chosen_late, refuse)
        return Transaction(self._epochs, terms, self._engine_of, self.spark)

    @property
    def epoch(self) -> int:
        """The number of the last epoch, 0 before the first; a transaction is one, and a later change of definitions.

        The first read of a view that follows from facts alone is one, too.
        """
        return self._epochs.last.version.epoch

    def snapshot(self) -> Snapshot:
        """Return the tables and views of the present epoch, for several reads."""
        self._version()
        return self._snapshot(self._epochs.last)

    def at(self, epoch: int) -> Snapshot:
        """Return the tables and views at one of the last `retain` epochs.

        Raises DelticError, which lists the retained epochs, for any other.
        """
        return self._snapshot(self._epochs.at(epoch))

    def _snapshot(self, published: PublishedEpoch) -> Snapshot:
        return Snapshot(published, self._engine_of, self.spark, what_ifs)

    @property
    def place(self) -> str | None:
        """Where the state is kept; None for memory."""
        return self._keeping.place

    @property
    def positions(self) -> Mapping[str, Any]:
        """How far each source has been read: the last position that a transaction stored."""
        return self._epochs.positions

    @property
    def watermarks(self) -> dict[str, Any]:
        """For each table with a lateness the time before which rows are late; None before its first row."""
        return watermarks(self.catalog, self._version())

    @property
    def sources(self) -> Mapping[str, External]:
        """The sources of refreshed tables, by table."""
        return self._definitions.sources

    @property
    def publications(self) -> tuple[Publication, ...]:
        """The published views, and their targets."""
        return self._definitions.publications

    def explain(self, name: str, full: bool = False) -> PlanText:
        """Return how a view is updated: what its parts cost and keep, and its delta queries; notebooks draw its
        circuit.

        `full`: also its circuit before and after, why that is right, and the plan of each delta query.
        """
        self._check_view(name)
        pushed = self._evolving.pushed if self._engines.maintenance.demand else None
        return explained(
            name, full, self._epochs.engine, self._definitions, self._engines.recursion, pushed, self._engines.bound
        )

    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        """Return a view's relations and delta queries as data, as in `explain`: rows visited, expected and actual.

        Tables come first, the view last. On shards also how the rows of each relation are spread, and the relations
        that have its rows by another key.
        """
        self._check_view(name)
        self._version()
        return self._epochs.engine.maintenance(name)

    def circuit(self, name: str | None = None) -> Circuit:
        """Return the circuit of one view, or of all views together."""
        if name is None:
            return self.catalog.circuit
        self._check_view(name)
        return self.catalog.circuit_of(name)

    def changes(self, view: str, since: int | None = None) -> Subscription:
        """Follow a view: its changes in each epoch after `since`, by default after the present one.

        The changes of the last 1,000 epochs, of at most a million rows, are kept. Raises DelticError for an earlier
        epoch, or a future one.
        """
        self._check_view(view)
        self._version()
        position = self.epoch if since is None else since
        return Subscription(view, self.views[view], self._epochs.history, position, self.spark)

    def sizes(self, timeout: float | None = None) -> Rows:
        """Return the memory of the state: the entries and bytes of each relation in each of its orders.

        Includes the relations of the plan, by their names in `explain`. Raises
        BusyError where an epoch takes longer than `timeout`, or that of all transactions, in seconds.
        """
        return Rows(TableBatch(sizes_table(self._sizes(timeout))), self.spark)

    def views_by_relation(self) -> Mapping[str, tuple[str, ...]]:
        """For each relation of the plan, the views that it stores, or else the nearest views that need it.

        Use it to add up `report.work` and `sizes` by view. A table stands for itself.
        """
        return self._epochs.engine.views_by_relation()

    def serve_metrics(self, port: int = 9464, host: str = "127.0.0.1") -> MetricsServer:
        """Serve metrics of epochs and state in Prometheus' text format, at http://HOST:PORT/metrics.

        Port 0 is any free one. The result has the `port`, and ends with `close` or its with-block.
        """
        from deltic.pipeline.metrics import MetricsServer

        return MetricsServer(self.metrics(), host, port)

    def metrics(self) -> Metrics:
        """Metrics of the state, and of epochs until `close`; `text` is in Prometheus' text format."""
        from deltic.pipeline.metrics import Metrics

        version = self._version()
        rows = {view: version.count(view) for view in self.views}
        return Metrics(rows, self._sizes, lambda: self.watermarks, self._epochs.observers)

    def observe(self, receive: Callable[[EpochReport], None]) -> Callable[[], None]:
        """Call `receive` with the report of each epoch from now on, in the thread that commits it; it must not raise.

        Returns a function that stops the calls.
        """

        def observer(number: int, result: EpochResult) -> None:
            receive(report_of(result, number))

        self._epochs.observers.append(observer)
        return partial(self._epochs.observers.remove, observer)

    def _sizes(self, timeout: float | None = None) -> list[Size]:
        with self._epochs.writing(timeout):
            return self._epochs.engine.sizes()
