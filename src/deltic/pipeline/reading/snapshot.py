"""Tables and views of one epoch, or as a transaction would leave them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltic.catalog import ViewDefinitions
from deltic.engine.batches import TableBatch
from deltic.engine.result import EpochResult
from deltic.engine.version import Version
from deltic.errors import DelticError
from deltic.pipeline.epochs.report import EpochReport, report_of
from deltic.pipeline.io.parsed import arrow_schema
from deltic.pipeline.names import find
from deltic.pipeline.reading.reading import PublishedEpoch, Reading
from deltic.pipeline.reading.rows import Delta, Rows
from deltic.values.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltic.pipeline.epochs.clock import AnswerEngine
    from deltic.pipeline.epochs.epochs import Epochs
    from deltic.pipeline.epochs.transaction import Transaction
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
        """The same."""
        return self.last

    def at(self, epoch: int) -> PublishedEpoch:
        """Raises DelticError: other epochs are not part of it."""
        raise DelticError(f"epoch {epoch} is not part of the tables and views at epoch {self._number}")

    def release(self) -> None:
        """Release the memory of its rows."""
        self._published = None


class Snapshot(Reading):
    """The tables and views of one epoch, unaffected by later commits: `snapshot["reaches"]`.

    Its rows stay in memory until it is garbage-collected or, as a context, until the end of the block.
    """

    def __init__(self, published: PublishedEpoch, engine_of: AnswerEngine, spark: SparkSession | None) -> None:
        self.spark = spark
        self.epoch = published.version.epoch
        """The number of the epoch."""
        self._source: PinnedEpoch = PinnedEpoch(published)
        self._engine_of = engine_of
        self._trial: Epochs | None = None

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

    def what_if(self) -> Transaction:
        """A transaction over these tables and views; the end of its block discards it, and it cannot commit.

        The first one fills an engine with the tables, at the cost of computing all views; the snapshot keeps it. Raises
        UnsupportedError where a view reads earlier epochs, or rows of a table may have been forgotten.
        """
        from deltic.pipeline.epochs.transaction import Transaction, TransactionTerms
        from deltic.pipeline.epochs.trial import trial

        if self._trial is None:
            self._trial = trial(self._source.last, self._engine_of)
        terms = TransactionTerms("error", is_kept=False, refuse=self._refuse_commit)
        return Transaction(self._trial, terms, self._engine_of, self.spark)

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
        self._trial = None

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
    ) -> None:
        super().__init__(published, engine_of, spark)
        self._result = result
        self.affected = affected
        """How many rows each change was about, as `Transaction.affected` has it after a commit."""
        self.report: EpochReport = report_of(result, self.epoch)
        """The transaction in numbers."""

    def of(self, view: str) -> Delta:
        """How the transaction would change a view."""
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
    """The change of a view in an epoch; raises DelticError where there is no such view."""
    schema = find(view, "view", views, dict.fromkeys(tables, "it is a table"))
    change = result.changes.batch(view)
    return Delta(change or TableBatch(arrow_schema(schema, True).empty_table()), spark)
