"""Transactions: changes of tables that take effect together, in one epoch, or not at all [DBSP §12.4]."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.circuit.types import Schema
from deltic.engine.batches import TableBatch
from deltic.engine.prepared import Prepared
from deltic.engine.protocol import WEIGHT, EpochResult
from deltic.errors import DelticError
from deltic.pipeline.coerce import to_table
from deltic.pipeline.delta import Delta
from deltic.pipeline.io.parsed import arrow_schema
from deltic.pipeline.names import find
from deltic.pipeline.report import EpochReport, report_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Batches = Mapping[str, TableBatch]


class _Phase(enum.Enum):
    OPEN = "is still open: its changes are known after the with-block"
    COMMITTED = "has been committed: open another one to change tables"
    DISCARDED = "was discarded because of an error: nothing of it was applied"
    UNUSED = "has not begun: use it as `with pipeline.transaction() as change:`"


class Transaction:
    """Collects changes inside a with-block and applies them at its end; any exception discards them all.

    Inside one transaction order does not matter: a row that is deleted and inserted again has not changed.
    """

    def __init__(
        self,
        tables: Mapping[str, Schema],
        views: Mapping[str, Schema],
        prepare: Callable[[Batches], Prepared],
        changes_of: Callable[[str, str], Iterator[tuple[str, pa.Table]]],
        close: Callable[[], None],
        spark: SparkSession | None,
    ) -> None:
        self._tables, self._views = tables, views
        self._prepare, self._changes_of, self._close = prepare, changes_of, close
        self._spark = spark
        self._batches: dict[str, list[pa.Table]] = {}
        self._phase = _Phase.UNUSED
        self._result = EpochResult()
        self._report = EpochReport(0)

    def insert(self, table: str, rows: Any) -> None:
        """Insert rows: an Arrow table, a pandas or Spark DataFrame, or an iterable of tuples or dicts.

        Raises DataError naming table, row and column when a row does not fit the table.
        """
        self._add(table, rows, 1)

    def delete(self, table: str, rows: Any) -> None:
        """Delete rows, given in any of the forms of `insert`."""
        self._add(table, rows, -1)

    def change(self, table: str, rows: Any) -> None:
        """Insert and delete rows as their column `__weight__` says: 1 or -1.

        Or their column `op`, with + or -, or `_change_type`, of Delta's change data feed. Rows are given in the forms
        of `insert`, but for tuples; dicts may also be envelopes of Debezium, and either of them JSON texts.
        """
        self._require(_Phase.OPEN)
        self.append(table, to_table(table, self._schema(table), rows, signed=True))

    def sql(self, text: str, file: str = "<sql>") -> None:
        """INSERT, DELETE, UPDATE and MERGE; they see the tables and views as they are before the transaction.

        Raises ProgramError for what is wrong in them, or changes no table, and DataError for a value that does not fit.
        """
        self._require(_Phase.OPEN)
        for table, batch in self._changes_of(text, file):
            self.append(table, batch)

    def append(self, table: str, batch: pa.Table) -> None:
        """Change a table by rows that have exactly its columns and types, and any weights in `__weight__`."""
        self._require(_Phase.OPEN)
        if len(batch):
            self._batches.setdefault(table, []).append(batch)

    def of(self, view: str) -> Delta:
        """How the transaction changed a view; raises DelticError before the end of the with-block."""
        self._require(_Phase.COMMITTED)
        schema = find(view, "view", self._views, dict.fromkeys(self._tables, "it is a table"))
        change = self._result.changes.batch(view)
        return Delta(change or TableBatch(arrow_schema(schema, True).empty_table()), self._spark)

    @property
    def report(self) -> EpochReport:
        """The transaction in numbers; raises DelticError before the end of the with-block."""
        self._require(_Phase.COMMITTED)
        return self._report

    def __repr__(self) -> str:
        if self._phase is not _Phase.COMMITTED:
            return f"the transaction {self._phase.value}"
        rows = self._report.rows_in
        changed = (f"{name} {counts}" for name, counts in self._report.changed.items())
        return "; ".join([f"{rows:,} row{'s' * (rows != 1)} changed", *changed])

    @property
    def is_open(self) -> bool:
        """Whether the with-block has begun and not ended."""
        return self._phase is _Phase.OPEN

    def __enter__(self) -> Transaction:
        self._require(_Phase.UNUSED)
        self._phase = _Phase.OPEN
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        batches, self._batches = self._batches, {}
        self._phase = _Phase.DISCARDED
        self._close()
        if kind is None:
            with self._prepare({name: TableBatch(pa.concat_tables(parts)) for name, parts in batches.items()}) as epoch:
                self._report = report_of(epoch.result)
                self._result = epoch.commit()
            self._phase = _Phase.COMMITTED

    def _add(self, table: str, rows: Any, weight: int) -> None:
        self._require(_Phase.OPEN)
        batch = to_table(table, self._schema(table), rows)
        self.append(table, with_weight(batch, weight))

    def _schema(self, table: str) -> Schema:
        derived = dict.fromkeys(self._views, "it is a view, and its rules alone change it")
        return find(table, "table", self._tables, derived)

    def _require(self, phase: _Phase) -> None:
        if self._phase is not phase:
            raise DelticError(f"the transaction {self._phase.value}")


def with_weight(rows: pa.Table, weight: int) -> pa.Table:
    """The rows, each with the same weight."""
    weights = pa.repeat(pa.scalar(weight, pa.int64()), len(rows))
    field = pa.field(WEIGHT, pa.int64(), nullable=False)
    return rows.append_column(field, weights) if rows.num_columns else pa.table([weights], schema=pa.schema([field]))
