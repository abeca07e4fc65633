"""Keeping the views fresh through a sequence of edits, and measuring it against recomputation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.demo.epochs import DemoEpoch
from deltic.demo.insights import Observation, first_insights, insights
from deltic.demo.tables import FactTables, changed_tables, program_text
from deltic.demo.tree import Edit, Tree
from deltic.pipeline.engines import EngineName
from deltic.pipeline.epochs.report import RowCounts
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
        """Return the initial evaluation, epoch 0."""
        tables = self.tables.tables()
        change, seconds = transact(self.pipeline, tables, {})
        rows, insights = RowCounts(_total(tables.values()), 0), first_insights(self.pipeline)
        views, files = change.report.changed, len(self.tree.modules)
        return DemoEpoch(0, "evaluate everything", files, rows, views, seconds, insights=insights)

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
            RowCounts(_total(inserted.values()), _total(deleted.values())),
            change.report.changed,
            seconds,
            insights=insights(Observation(parsed.change, change, self.pipeline)),
        )

    def recompute(self) -> tuple[Pipeline, float]:
        """Return a new pipeline filled with the tables as they stand, and the seconds that filling it took."""
        tables = self.tables.tables()
        fresh = new_pipeline(None)
        _, seconds = transact(fresh, tables, {})
        return fresh, seconds


def new_pipeline(spark: SparkSession | None, engine: EngineName = "auto") -> Pipeline:
    """Return a pipeline with the demonstration's program and no rows."""
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


def _total(tables: Iterable[pa.Table]) -> int:
    return sum(table.num_rows for table in tables)
