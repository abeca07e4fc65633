"""Keeping the views fresh through a sequence of edits, and measuring it against recomputation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.demo.epochs import Counts, DemoEpoch
from deltic.demo.facts import FactChange, Row
from deltic.demo.insights import Observation, first_insights, insights
from deltic.demo.tables import FactTables, changed_tables, program_text
from deltic.demo.tree import Edit, Tree
from deltic.pipeline.engines import EngineName
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.session import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tables = Mapping[str, pa.Table]


class Replay:
    """A pipeline of the demonstration's views, kept fresh while a tree of source files is edited."""

    def __init__(self, spark: SparkSession | None, tree: Tree, facts: pa.Table, engine: EngineName = "auto") -> None:
        self.tree = tree
        self.tables = FactTables(facts)
        self.pipeline = new_pipeline(spark, engine)

    def start(self) -> DemoEpoch:
        """The initial evaluation, epoch 0."""
        tables = self.tables.tables()
        change, seconds = transact(self.pipeline, tables, {})
        rows = Counts(_total(tables.values()), 0)
        insights = first_insights(self.pipeline)
        return DemoEpoch(
            0, "evaluate everything", len(self.tree.modules), rows, _counts(change), seconds, insights=insights
        )

    def apply(self, number: int, edit: Edit) -> DemoEpoch:
        """Makes an edit and brings the views up to date; only the latter is timed."""
        parsed = self.tree.apply(edit)
        self.tables.replace(parsed.facts)
        inserted, deleted = changed_tables(parsed.change.inserted), changed_tables(parsed.change.deleted)
        change, seconds = transact(self.pipeline, inserted, deleted)
        return DemoEpoch(
            number,
            edit.words,
            len(edit.files),
            Counts(_total(inserted.values()), _total(deleted.values())),
            _counts(change),
            seconds,
            insights=insights(self._observed(parsed.change, change)),
        )

    def recompute(self) -> tuple[Pipeline, float]:
        """A new pipeline filled with the tables as they stand, and the seconds that filling it took."""
        tables = self.tables.tables()
        fresh = new_pipeline(None)
        _, seconds = transact(fresh, tables, {})
        return fresh, seconds

    def _observed(self, facts: FactChange, change: Transaction) -> Observation:
        asked = self.pipeline.why, self.pipeline.why_not
        return Observation(facts, lambda view: iter(change.of(view)), self._imports, self._affected_by, *asked)

    def _imports(self) -> Iterable[Row]:
        return iter(self.pipeline["imports"])

    def _affected_by(self, module: str) -> int:
        return len(self.pipeline["affects"].lookup(changed=module))


def new_pipeline(spark: SparkSession | None, engine: EngineName = "auto") -> Pipeline:
    """A pipeline with the demonstration's program and no rows."""
    pipeline = Pipeline(spark, engine=engine)
    pipeline.datalog(program_text(), file="program.dl")
    return pipeline


def transact(pipeline: Pipeline, inserted: Tables, deleted: Tables) -> tuple[Transaction, float]:
    """Applies rows as one epoch: the transaction, and the seconds until all views were fresh."""
    start = perf_counter()
    with pipeline.transaction() as change:
        for table, rows in deleted.items():
            change.delete(table, rows)
        for table, rows in inserted.items():
            change.insert(table, rows)
    return change, perf_counter() - start


def _counts(change: Transaction) -> dict[str, Counts]:
    return {view: Counts(c.inserted, c.deleted) for view, c in change.report.changed.items()}


def _total(tables: Iterable[pa.Table]) -> int:
    return sum(table.num_rows for table in tables)
