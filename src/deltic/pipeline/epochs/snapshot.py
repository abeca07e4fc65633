"""Tables and views of one epoch, or as a transaction would leave them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, Self

import pyarrow as pa

from deltic.catalog import ViewDefinitions
from deltic.engine.batches import TableBatch
from deltic.engine.result import EpochResult
from deltic.engine.version import Version
from deltic.errors import ChangeError, DelticError
from deltic.pipeline.epochs.report import EpochReport, report_of
from deltic.pipeline.io.parsed import arrow_schema
from deltic.pipeline.names import find
from deltic.pipeline.reading.reading import PublishedEpoch, Reading
from deltic.pipeline.reading.reasons import RowPattern, TableRows, bound
from deltic.pipeline.rows.rows import Delta, Rows
from deltic.values import to_arrow, to_python
from deltic.values.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.pipeline.epochs.clock import AnswerEngine
    from deltic.sql.statements.parameters import Args


class PinnedEpoch:
    """An epoch that stays readable until it is released."""

    def __init__(self, published: PublishedEpoch) -> None:
        self._number = published.version.epoch
        self._published: PublishedEpoch | None = published

    @property
    def last(self) -> PublishedEpoch:
        """The epoch; raises DelticError once it was released."""
        if self._published is None:
            raise DelticError(f"the snapshot of epoch {self._number} ended with its block: read inside of it")
        return self._published

    def present(self) -> PublishedEpoch:
        """Return the same."""
        return self.last

    def at(self, epoch: int) -> PublishedEpoch:
        """Raise DelticError: other epochs are not part of it."""
        raise DelticError(f"epoch {epoch} is not part of the tables and views at epoch {self._number}")

    def release(self) -> None:
        """Release the memory of its rows."""
        self._published = None


class WhatIf(Protocol):
    """A transaction whose block discards it at the end; `Transaction` says what each method does."""

    def insert(self, table: str, rows: Any, coerce: bool = False) -> None: ...

    def delete(self, table: str, rows: Any, coerce: bool = False) -> None: ...

    def upsert(self, table: str, rows: Any, coerce: bool = False) -> None: ...

    def update(self, table: str, rows: Any, coerce: bool = False) -> None: ...

    def sql(self, text: str, args: Args | None = None, file: str = "<sql>") -> None: ...

    def preview(self) -> Preview: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: Any) -> None: ...


WhatIfs = Callable[[PublishedEpoch, "AnswerEngine", "SparkSession | None", Callable[[], None]], Callable[[], WhatIf]]
"""Returns what begins transactions over an epoch; its last argument raises the error where one would commit."""


class Trying(Reading):
    """Tables and views whose changes can be tried: what a row needs, what rests on it, what would derive it."""

    @abstractmethod
    def what_if(self) -> WhatIf:
        """Return a transaction over these tables and views that its block discards; `preview` has its result."""

    def impact(self, table: str, row: RowPattern) -> Preview:
        """Preview the deletion of the rows of a table that have these values; nothing is committed.

        `preview.of(view)` has the changes of a view. Raises DelticError where no row has the values.
        """
        schema = find(table, "table", self.tables)
        there = self._version().lookup_all(table, _keys(table, schema, row))
        if not len(there):
            raise DelticError(f"{table} has no row with these values: nothing depends on it")
        with self.what_if() as change:
            change.delete(table, there)
            return change.preview()

    def missing(self, name: str, row: RowPattern, most: int = 3) -> list[TableRows]:
        """Return the smallest sets of table rows that would derive a missing row: lists of (table, row).

        None has more than `most` rows. Deltic searches backward through the rules and tries each set by
        inserting it. An empty list says that none was found: columns that no rule binds get no values, and nothing is
        deleted. Raises DelticError if such a row is present.
        """
        schema = self._readable(name)
        pattern = bound(name, schema, row)
        wanted = {column: to_python(value, schema.types[column]) for column, value in pattern.items()}
        if len(self._version().lookup(name, wanted)):
            raise DelticError(f"{name} has a row with these values: ask why")

        def makes(rows: TableRows) -> bool:
            try:
                with self.what_if() as change:
                    for table, each in rows:
                        change.insert(table, [each])
                    preview = change.preview()
            except ChangeError:
                return False
            return len(preview._version().lookup(name, wanted)) > 0

        return self._reasons().additions(name, pattern, most, makes)

    def lineage(self, name: str, row: RowPattern = MappingProxyType({}), *, needed: bool = False) -> Rows:
        """Return the rows of tables that rows with these values rest on, or that all rows do.

        The columns are `result`, `table` and `row`, where rows are JSON. All rows cost one evaluation of the view; in
        recursions and window functions each row costs an explanation, whose leaves are its lineage. With `needed`,
        only those without which the row would go: Deltic tries the deletion of each, at the cost of that change.
        """

        def remains(result: Mapping[str, Any], table: str, leaf: RowPattern) -> bool:
            return len(self.impact(table, leaf)._version().lookup(name, result)) > 0

        rows = self._reasons().lineage(name, self._readable(name), row, remains if needed else None)
        return Rows(TableBatch(rows), self.spark)


class Snapshot(Trying):
    """The tables and views of one epoch, unaffected by later commits: `snapshot["reaches"]`.

    Its rows stay in memory until it is garbage-collected or, as a context, until the end of the block.
    """

    def __init__(
        self, published: PublishedEpoch, engine_of: AnswerEngine, spark: SparkSession | None, what_ifs: WhatIfs
    ) -> None:
        self.spark = spark
        self.epoch = published.version.epoch
        """The number of the epoch."""
        self._source: PinnedEpoch = PinnedEpoch(published)
        self._engine_of = engine_of
        self._what_ifs = what_ifs
        self._begin: Callable[[], WhatIf] | None = None

    def query(self, text: str, args: Args | None = None, file: str = "<sql>") -> Rows:
        from deltic.pipeline.sql.evaluation import answered
        from deltic.pipeline.sql.planning import ExplainedRows, asked
        from deltic.pipeline.sql.prepared import PlannedQuery

        step = asked(text, file, self._definitions, args)
        if isinstance(step, ExplainedRows):
            return self.explained_rows(step.definition, step.kind)
        return answered(step, self._version(), self._engine_of, self.spark) if isinstance(step, PlannedQuery) else step

    def explained_rows(self, query: ViewDefinitions, kind: str) -> Rows:
        """Explain the rows of a query, its absent rows, or their lineage."""
        from deltic.pipeline.sql.answers import TextAnswer

        (view,) = query.views
        reasons = self._reasons(others=[query])
        if kind == "lineage":
            return Rows(TableBatch(reasons.lineage(view.name, view.schema, {})), self.spark)
        if kind == "why":
            return TextAnswer(kind, reasons.whys(view.name))
        return TextAnswer(kind, reasons.why_nots(view.name))

    def what_if(self) -> WhatIf:
        """Return a transaction over these tables and views; the end of its block discards it, and it cannot commit.

        The first one fills an engine with the tables, at the cost of computing all views; the snapshot keeps it. Raises
        UnsupportedError where a view reads earlier epochs, or rows of a table may have been forgotten.
        """
        if self._begin is None:
            self._begin = self._what_ifs(self._source.last, self._engine_of, self.spark, self._refuse_commit)
        return self._begin()

    def _refuse_commit(self) -> None:
        raise DelticError(f"{self!r} do not change: only a transaction of the pipeline is committed")

    @property
    def version(self) -> Version:
        """The version that the engine has published."""
        return self._version()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.release()
        self._begin = None

    def __repr__(self) -> str:
        return f"the tables and views at epoch {self.epoch}"


class Preview(Snapshot):
    """The tables and views as a transaction would leave them, and their changes; nothing is committed."""

    def __init__(
        self,
        published: PublishedEpoch,
        result: EpochResult,
        affected: tuple[int, ...],
        engine_of: AnswerEngine,
        spark: SparkSession | None,
        what_ifs: WhatIfs,
    ) -> None:
        super().__init__(published, engine_of, spark, what_ifs)
        self._result = result
        self.affected = affected
        """How many rows each change was about, as `Transaction.affected` has it after a commit."""
        self.report: EpochReport = report_of(result, self.epoch)
        """The transaction in numbers."""

    def of(self, view: str) -> Delta:
        """Return how the transaction would change a view."""
        return change_of(view, self._result, self.views, self.tables, self.spark)

    def __repr__(self) -> str:
        return f"epoch {self.epoch} as it would be: {self.report}"


def change_of(
    view: str,
    result: EpochResult,
    views: Mapping[str, Schema],
    tables: Mapping[str, Schema],
    spark: SparkSession | None,
) -> Delta:
    """Return the change of a view in an epoch; raises DelticError where there is no such view."""
    schema = find(view, "view", views, dict.fromkeys(tables, "it is a table"))
    change = result.changes.batch(view)
    return Delta(change or TableBatch(arrow_schema(schema, True).empty_table()), spark)


def _keys(table: str, schema: Schema, row: RowPattern) -> pa.Table:
    """One key for a look-up."""
    values = bound(table, schema, row)
    columns = [to_arrow([value], schema.types[name]) for name, value in values.items()]
    return pa.table(columns, names=list(values))
