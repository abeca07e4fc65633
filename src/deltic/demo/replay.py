"""Keeping the views fresh through a sequence of edits, and measuring it against recomputation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from deltic.demo.epochs import Counts, Epoch
from deltic.demo.facts import FactChange, Row
from deltic.demo.insights import Observed, insights
from deltic.demo.tables import FactTables, changed_tables, program_text
from deltic.demo.tree import Edit, Tree
from deltic.engine.protocol import WEIGHT
from deltic.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tables = Mapping[str, pa.Table]
Deltas = dict[str, pa.Table]


class Replay:
    """A pipeline of the demonstration's views, kept fresh while a tree of source files is edited."""

    def __init__(self, spark: SparkSession | None, tree: Tree, facts: pa.Table) -> None:
        self.tree = tree
        self.tables = FactTables(facts)
        self.pipeline = new_pipeline(spark)

    def start(self) -> Epoch:
        """The initial evaluation, epoch 0."""
        tables = self.tables.tables()
        deltas, seconds = transact(self.pipeline, tables, {})
        rows = Counts(_total(tables.values()), 0)
        return Epoch(0, "read everything", len(self.tree.modules), rows, _counts(deltas), seconds)

    def apply(self, number: int, edit: Edit) -> Epoch:
        """Makes an edit and brings the views up to date; only the latter is timed."""
        parsed = self.tree.apply(edit)
        self.tables.replace(parsed.facts)
        inserted, deleted = changed_tables(parsed.change.inserted), changed_tables(parsed.change.deleted)
        deltas, seconds = transact(self.pipeline, inserted, deleted)
        return Epoch(
            number,
            edit.words,
            len(edit.files),
            Counts(_total(inserted.values()), _total(deleted.values())),
            _counts(deltas),
            seconds,
            insights=insights(self._observed(parsed.change, deltas)),
        )

    def recompute(self) -> tuple[Pipeline, float]:
        """A new pipeline filled with the tables as they stand, and the seconds that filling it took."""
        fresh = new_pipeline(None)
        _, seconds = transact(fresh, self.tables.tables(), {})
        return fresh, seconds

    def _observed(self, facts: FactChange, deltas: Deltas) -> Observed:
        return Observed(facts, deltas, self._imports, self._affected_by)

    def _imports(self) -> list[Row]:
        columns = self.pipeline["imports"].to_arrow().columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    def _affected_by(self, module: str) -> int:
        return self.pipeline["affects"].lookup(changed=module).num_rows


def new_pipeline(spark: SparkSession | None) -> Pipeline:
    """A pipeline with the demonstration's program and no rows."""
    pipeline = Pipeline(spark)
    pipeline.datalog(program_text(), file="program.dl")
    return pipeline


def transact(pipeline: Pipeline, inserted: Tables, deleted: Tables) -> tuple[Deltas, float]:
    """Applies rows as one epoch: the changes of the views that changed, and the seconds until they were fresh."""
    start = perf_counter()
    with pipeline.transaction() as change:
        for table, rows in deleted.items():
            change.delete(table, rows)
        for table, rows in inserted.items():
            change.insert(table, rows)
    seconds = perf_counter() - start
    deltas = {view: change.of(view).to_arrow() for view in pipeline.views}
    return {view: delta for view, delta in deltas.items() if delta.num_rows}, seconds


def _counts(deltas: Deltas) -> dict[str, Counts]:
    return {view: _signed_counts(delta[WEIGHT]) for view, delta in deltas.items()}


def _signed_counts(weights: pa.ChunkedArray) -> Counts:
    inserted = pc.sum(pc.greater(weights, 0)).as_py()
    return Counts(inserted, len(weights) - inserted)


def _total(tables: Iterable[pa.Table]) -> int:
    return sum(table.num_rows for table in tables)
