"""Keeping the views fresh through a sequence of edits, and measuring it against recomputation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import cache
from importlib.resources import files
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from deltic.datalog import check, parse
from deltic.demo.epochs import DemoEpoch
from deltic.demo.extract import Fact
from deltic.demo.insights import Observation, first_insights, insights
from deltic.demo.spark_facts import FACTS, VALUES, fact_batch
from deltic.demo.tree import Edit, Tree
from deltic.pipeline.engines import EngineName
from deltic.pipeline.epochs.report import RowCounts
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.session import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tables = Mapping[str, pa.Table]


@cache
def program_text() -> str:
    """Return the Datalog program of the demonstration."""
    return files("deltic.demo").joinpath("program.dl").read_text("utf-8")


@cache
def input_schemas() -> Mapping[str, pa.Schema]:
    """Return the columns of the program's input relations by name."""
    relations = check([parse(program_text(), "program.dl")]).relations
    return {name: relation.schema.to_arrow() for name, relation in relations.items() if relation.is_table}


def typed_tables(facts: pa.Table) -> dict[str, pa.Table]:
    """Return the facts in their travelling form (see spark_facts.py) as one table for each input relation."""
    return {name: _typed(facts.filter(pc.equal(facts["relation"], name)), s) for name, s in input_schemas().items()}


def changed_tables(facts: Iterable[Fact]) -> dict[str, pa.Table]:
    """Some facts as tables, only of the relations that they are about."""
    batch = pa.Table.from_batches([fact_batch("", facts)])
    return {name: table for name, table in typed_tables(batch).items() if table.num_rows}


class FactTables:
    """The facts of all modules as tables. An edit replaces all facts of the modules it touches."""

    def __init__(self, facts: pa.Table) -> None:
        self._first = facts
        self._replaced: dict[str, Set[Fact]] = {}

    def replace(self, facts: Mapping[str, Set[Fact]]) -> None:
        """Replaces the modules' former facts by these; an empty set when a module is gone."""
        self._replaced.update(facts)

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables as they stand, every relation present, no row twice."""
        replaced = pc.is_in(self._first["module"], pa.array(self._replaced, pa.string()))
        batches = [fact_batch(module, facts) for module, facts in self._replaced.items()]
        edited = pa.Table.from_batches(batches, FACTS)
        return typed_tables(pa.concat_tables([self._first.filter(pc.invert(replaced)), edited]))


def _typed(facts: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [facts[value].cast(field.type) for value, field in zip(VALUES, schema, strict=False)]
    return pa.table(columns, schema=schema)


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
        edited = self.tree.apply(edit)
        self.tables.replace(edited.facts)
        inserted, deleted = changed_tables(edited.inserted), changed_tables(edited.deleted)
        change, seconds = transact(self.pipeline, inserted, deleted)
        return DemoEpoch(
            number,
            edit.words,
            len(edit.files),
            RowCounts(_total(inserted.values()), _total(deleted.values())),
            change.report.changed,
            seconds,
            insights=insights(Observation(edited, change, self.pipeline)),
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
