"""Transactions: changes of tables that take effect together, in one epoch, or not at all [DBSP §12.4]."""

from __future__ import annotations

import enum
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.lateness import LatePolicy
from deltic.engine.prepared import Prepared
from deltic.engine.result import EpochResult
from deltic.engine.version import Version
from deltic.errors import ChangeError, DelticError, count_of
from deltic.html import facts
from deltic.pipeline.epochs.awaiting import finished
from deltic.pipeline.epochs.clock import AnswerEngine
from deltic.pipeline.epochs.epochs import Epochs, LoggedEpoch
from deltic.pipeline.epochs.lateness import Batches
from deltic.pipeline.epochs.operations import ChangeManager, Operation, check_counts, check_defined
from deltic.pipeline.epochs.report import EpochReport, report_of
from deltic.pipeline.epochs.row_operations import RowOperations, row_changes
from deltic.pipeline.epochs.snapshot import Preview, change_of
from deltic.pipeline.epochs.trial import trial
from deltic.pipeline.io.rounding import RoundedValues, Rounding
from deltic.pipeline.reading.reading import PublishedEpoch
from deltic.pipeline.rows.rows import Delta
from deltic.sql.statements.effect import Effect
from deltic.sql.statements.parameters import Args

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _Phase(enum.Enum):
    OPEN = "is still open: its changes are known after the with-block; `preview` shows what they would be"
    COMMITTED = "has been committed: open another one to change tables"
    DISCARDED = "was discarded, by an error or on request: nothing of it was applied"
    UNUSED = "has not begun: use it as `with pipeline.transaction() as change:`"


@dataclass(frozen=True)
class TransactionTerms:
    """The terms of a transaction; `is_kept`: the end of its block commits it. `refuse` raises where none may commit."""

    conflicts: Conflicts
    timeout: float | None = None
    token: str = ""
    positions: Mapping[str, Any] = field(default_factory=dict)
    is_kept: bool = True
    late: LatePolicy = "drop"
    refuse: Callable[[], None] = lambda: None


class Transaction:
    """Gathers changes inside a with-block and applies them at its end; any exception discards them all.

    Insertions and deletions add up in any order: a row that is deleted and inserted again has not changed. `upsert`,
    `update`, deletions by key, and statements of SQL see the earlier changes of the transaction. All of it is resolved
    at the end of the block, over the tables as they are then, whatever other threads have committed since it began.

    In programs of asyncio `async with` commits without blocking the event loop.
    """

    def __init__(
        self, epochs: Epochs, terms: TransactionTerms, engine_of: AnswerEngine, spark: SparkSession | None
    ) -> None:
        self._epochs, self._engine_of, self._spark = epochs, engine_of, spark
        self.terms = terms
        self.operations: list[Operation] = []
        """The changes so far, in order; none after the end of the with-block."""
        self.reader = RowOperations(epochs.last.definitions, epochs.site)
        """Reads rows as operations, by the definitions that the transaction has checked last."""
        self._phase = _Phase.UNUSED
        self._seen: int | None = None
        self._counted: tuple[int, ...] = ()
        self._result, self._number = EpochResult(), 0
        self._affected: tuple[int, ...] = ()

    def insert(self, table: str, rows: Any, coerce: bool = False) -> None:
        """Insert rows: an Arrow table, a pandas or Spark DataFrame, or an iterable of tuples or dicts.

        Columns that dicts and frames leave out get their DEFAULT, or NULL.

        With `coerce`, values that do not fit are rounded: numbers to the nearest one, times to their dates; texts are
        read. `report.rounded` counts them. Raises DataError naming table, row and column when a row does not fit.
        """
        self._require(_Phase.OPEN)
        self.operations += self.reader.insert(table, rows, coerce)

    def delete(self, table: str, rows: Any, coerce: bool = False) -> None:
        """Delete rows, given in any of the forms of `insert`.

        Of a table with a key, rows may be given by the columns of their key alone.
        """
        self._require(_Phase.OPEN)
        self.operations += self.reader.delete(table, rows, coerce)

    def upsert(self, table: str, rows: Any, coerce: bool = False) -> None:
        """Insert rows, or replace the rows that have their keys.

        Of rows with one key the last one counts. Raises DelticError for a table without a key.
        """
        self._require(_Phase.OPEN)
        self.operations += self.reader.upsert(table, rows, coerce)

    def update(self, table: str, rows: Any, coerce: bool = False) -> None:
        """Assign columns of the rows with these keys: dicts or a frame with the key and these columns.

        Raises DelticError for a table without a key.
        """
        self._require(_Phase.OPEN)
        self.operations += self.reader.update(table, rows, coerce)

    def change(self, table: str, rows: Any, coerce: bool = False) -> None:
        """Insert and delete rows by their column `__weight__`: 1 or -1.

        Or by their column `op`, with + or -, or `_change_type`, of Delta's change data feed. Rows are in the forms of
        `insert`, except tuples; dicts may be envelopes of Debezium, and either may be JSON texts. For a table with a
        key, `op` may be u, which replaces the row of the key, or d, which deletes it; the last one of a key counts.
        `coerce` is that of `insert`.
        """
        self._require(_Phase.OPEN)
        self.operations += self.reader.change(table, rows, coerce)

    def sql(self, text: str, args: Args | None = None, file: str = "<sql>") -> None:
        """INSERT, DELETE, UPDATE and MERGE; each sees the earlier changes of the transaction.

        `args` are the values of parameters, as for `Pipeline.sql`.

        Raises ProgramError for mistakes and for other statements. Values that do not fit are found at the end.
        """
        from deltic.pipeline.sql.planning import effects

        self._require(_Phase.OPEN)
        result = effects(text, file, self._epochs.last.definitions, args)
        for effect in result:
            self.reader.refuse_refreshed(effect.table)
        self.operations += result

    def append(self, table: str, rows: Changed, rounded: Mapping[str, RoundedValues] = MappingProxyType({})) -> None:
        """Change a table by rows that have exactly its columns and types, and any weights in `__weight__`.

        `deltic.engine.keyed` has the columns for changes by key, in place of weights. The report counts the values
        that were `rounded`. Raises DelticError for a table with a source.
        """
        self.reader.refuse_refreshed(table)
        if rounded:
            self.reader.rounded.setdefault(table, Rounding()).add(rounded)
        self.refill(table, rows)

    def refill(self, table: str, rows: Changed) -> None:
        """As `append`, for a refresh from the table's source."""
        self._require(_Phase.OPEN)
        self.operations += row_changes(table, rows)

    def add(self, effect: Effect) -> None:
        """Add the change that a statement of SQL makes to a table."""
        self._require(_Phase.OPEN)
        self.reader.refuse_refreshed(effect.table)
        self.operations.append(effect)

    def check(self) -> None:
        """Raise what a commit would raise now. It commits nothing, and others may commit meanwhile."""
        with self._tried():
            pass

    def preview(self) -> Preview:
        """Tables and views as the changes so far would leave them, and their changes; nothing is committed.

        The transaction is then bound to that epoch: if another one commits first, its own commit raises ChangeError,
        and nothing is applied. Raises what a commit would raise.
        """
        with self._tried() as (epoch, affected):
            self._seen = epoch.number - 1
            published = PublishedEpoch(self.reader.definitions, epoch.version)
            return Preview(published, epoch.result, affected, self._engine_of, self._spark, what_ifs)

    def count(self) -> int:
        """Return how many rows the last of the changes so far affects. Raises what a commit would raise.

        Others may commit meanwhile. If that changes the number, the commit raises ChangeError, and nothing is applied.
        """
        with self._tried() as (_, affected):
            self._counted = affected
            return affected[-1]

    @contextmanager
    def _tried(self) -> Iterator[tuple[Prepared, tuple[int, ...]]]:
        """Run the epoch of the changes so far, and abort it. Yield it with the numbers of rows that changes affect."""
        self._require(_Phase.OPEN)
        with self._epochs.writing(self.terms.timeout):
            self._check_unmoved()
            self._check_defined()
            manager = self._manager(self.operations)
            with self._prepare(manager.batches(self.operations)) as epoch:
                yield epoch, tuple(manager.affected)

    def commit(self) -> None:
        """Apply the changes now; the end of the block then does nothing.

        Raises what `Pipeline.transaction` raises at its end; the transaction is discarded then.
        """
        self._require(_Phase.OPEN)
        self._phase = _Phase.DISCARDED
        self.terms.refuse()
        with self._epochs.writing(self.terms.timeout):
            self._check_unmoved()
            self._check_defined()
            self._take(*self._applied(self.operations, self.terms.positions))

    def commit_with(
        self, others: Sequence[Transaction] = (), positions: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Commit this transaction and others that `groups` allows, in this order, as one epoch.

        `positions` are part of the epoch, besides those of the transactions. Raises what `commit` does; after an
        exception all of them are still open.
        """
        everyone = (self, *others)
        for each in everyone:
            each._require(_Phase.OPEN)
            each.terms.refuse()
        with self._epochs.writing(self.terms.timeout):
            self._check_unmoved()
            for each in everyone:
                each._check_defined()
            operations = [operation for each in everyone for operation in each.operations]
            agreed = ChainMap(*(dict(each.terms.positions) for each in everyone), dict(positions))
            result, number, affected = self._applied(operations, dict(agreed))
            for each in everyone:
                count = len(each.operations)
                each._take(result, number, affected[:count])
                affected = affected[count:]

    def _applied(
        self, operations: Sequence[Operation], positions: Mapping[str, Any]
    ) -> tuple[EpochResult, int, Sequence[int]]:
        """Commit operations as an epoch. Return its result and number, and how many rows each operation affects."""
        manager = self._manager(operations)
        logged = LoggedEpoch(manager.batches(operations), self.terms.conflicts, positions)
        check_counts(self._counted, manager.affected)
        with self._prepare(logged.batches) as epoch:
            return self._epochs.commit(epoch, logged), epoch.number, manager.affected

    def _take(self, result: EpochResult, number: int, affected: Sequence[int]) -> None:
        """Record the commit."""
        self._result, self._number, self._affected = result, number, tuple(affected)
        self._phase, self.operations = _Phase.COMMITTED, []

    def rewind(self, count: int) -> None:
        """Forget the changes after the first `count`: what ROLLBACK TO a savepoint does."""
        self._require(_Phase.OPEN)
        del self.operations[count:]
        self._counted = self._counted[:count]

    def discard(self) -> None:
        """Drop the changes; the end of the block then does nothing."""
        self._require(_Phase.OPEN)
        self._phase, self.operations = _Phase.DISCARDED, []

    def of(self, view: str) -> Delta:
        """Return how the transaction changed a view; raises DelticError before the end of the with-block."""
        self._require(_Phase.COMMITTED)
        catalog = self.reader.definitions.catalog
        return change_of(view, self._result, catalog.view_schemas, catalog.table_schemas, self._spark)

    @property
    def report(self) -> EpochReport:
        """The transaction in numbers; raises DelticError before the end of the with-block."""
        self._require(_Phase.COMMITTED)
        return self._report

    @cached_property
    def _report(self) -> EpochReport:
        rounded = {f"{table}.{c}": of for table, each in self.reader.rounded.items() for c, of in each.columns.items()}
        return replace(report_of(self._result, self._number), rounded=rounded)

    @property
    def affected(self) -> tuple[int, ...]:
        """How many rows each change affected, in order: those of a batch, or those that a statement changed.

        Raises DelticError before the end of the with-block.
        """
        self._require(_Phase.COMMITTED)
        return self._affected

    @property
    def was_looked_at(self) -> bool:
        """Whether its commit depends on what a preview showed, or on numbers of rows."""
        return self._seen is not None or bool(self._counted)

    def __repr__(self) -> str:
        if self.is_open:
            count = len(self.operations)
            return f"an open transaction: {count_of(count, 'change')}, not committed yet"
        if self._phase is not _Phase.COMMITTED:
            return f"the transaction {self._phase.value}"
        rows = sum(self._affected) - self._report.rows_late
        changed = (f"{name} {counts}" for name, counts in self._report.changed.items())
        late = (f"left out {each.summary}" for each in self._report.late)
        return "; ".join([f"{count_of(rows, 'row')} changed", *changed, *late])

    def _repr_html_(self) -> str:
        is_done = self._phase is _Phase.COMMITTED
        return self._report._repr_html_() if is_done else facts({"transaction": self._phase.value})

    @property
    def is_open(self) -> bool:
        """Whether the with-block has begun and not ended."""
        return self._phase is _Phase.OPEN

    @property
    def is_committed(self) -> bool:
        """Whether the changes were applied; ask this after an interrupt, which may come just after the commit."""
        return self._phase is _Phase.COMMITTED

    def __enter__(self) -> Transaction:
        self._require(_Phase.UNUSED)
        self._phase = _Phase.OPEN
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.is_open:
            if kind is None and self.terms.is_kept:
                self.commit()
            else:
                self.discard()

    async def __aenter__(self) -> Transaction:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit in another thread. A task that is cancelled meanwhile ends after that: `is_committed` tells."""
        await finished(partial(self.__exit__, kind))

    def _manager(self, operations: Sequence[Operation]) -> ChangeManager:
        """Return the manager that resolves operations, for the present tables."""
        if not self._epochs.have_begun and any(isinstance(each, Effect) and each.reads for each in operations):
            self._epochs.begin()
        return ChangeManager(
            self._epochs.last,
            self.terms.conflicts,
            self._prepare,
            self._changed_by,
            self._epochs.are_late,
            partial(self._epochs.settled, self.terms.conflicts),
        )

    def _prepare(self, batches: Batches) -> Prepared:
        return self._epochs.prepare(batches, self.terms.conflicts, self.terms.token, self.terms.late)

    def _changed_by(self, effect: Effect, version: Version) -> Sequence[pa.Table]:
        """Return the deleted and inserted rows of a statement, over these tables and views."""
        from deltic.pipeline.sql.evaluation import changed_by

        return changed_by(effect, self.reader.definitions.catalog.tables[effect.table], version, self._engine_of)

    def _check_unmoved(self) -> None:
        """Raise ChangeError if another epoch was committed after a preview of this one."""
        last = self._epochs.last.version.epoch
        if self._seen is not None and last != self._seen:
            self._phase = _Phase.DISCARDED
            raise ChangeError(
                f"the transaction was previewed at epoch {self._seen}, and the pipeline is now at epoch {last}: "
                "nothing was changed. Begin again, and preview it there"
            )

    def _check_defined(self) -> None:
        """Raise DefinitionsMovedError if a table or view that it changes or reads was redefined."""
        now = self._epochs.last.definitions
        check_defined(self.operations, self.reader.definitions.catalog, now.catalog)
        self.reader.definitions = now

    def _require(self, phase: _Phase) -> None:
        if self._phase is not phase:
            raise DelticError(f"the transaction {self._phase.value}")


def what_ifs(
    published: PublishedEpoch, engine_of: AnswerEngine, spark: SparkSession | None, refuse: Callable[[], None]
) -> Callable[[], Transaction]:
    """Return what begins transactions over an epoch; `refuse` raises the error where one would commit."""
    terms = TransactionTerms("error", is_kept=False, refuse=refuse)
    return partial(Transaction, trial(published, engine_of), terms, engine_of, spark)
