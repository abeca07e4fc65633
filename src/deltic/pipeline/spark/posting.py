"""Rows of DataFrames that do not pass this process: Spark's tasks make them rows of a table, and write them.

What is said by key comes to this process all the same. Keys and times of rows that come it reads a letter at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from deltic.catalog import Table
from deltic.circuit.types import Schema
from deltic.pipeline.epochs.operations import with_weights
from deltic.pipeline.rows.coerce import columns_needed, to_table
from deltic.pipeline.spark.spark import ROWS, arrow_schema_of, is_dataframe, quoted, with_months

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltic.engine.shards.posted import Posted, Site

Sites: TypeAlias = "Callable[[Table], Site | None]"
"""Where tasks may write rows of a table; None where they are to come to this process."""


class Reader(ABC):
    """What makes rows of a table of those of a DataFrame, in a task, part by part; a subclass says how."""

    def __init__(self) -> None:
        self._before = 0

    def __call__(self, rows: pa.Table) -> tuple[pa.Table, Any]:
        """The rows with weights, and what is told of them; raises DataError, which names the partition."""
        from pyspark import TaskContext

        context = TaskContext.get()
        told = f"partition {context.partitionId() if context is not None else 0}"
        found = self.read(rows, told, self._before)
        self._before += len(rows)
        return found

    @abstractmethod
    def read(self, rows: pa.Table, told: str, before: int) -> tuple[pa.Table, Any]:
        """The same of a part of the partition that is `told`, in which so many rows came before."""


class Rows(Reader):
    """Rows of a table, as it has them; without a `weight` they say it themselves."""

    def __init__(self, table: str, schema: Schema, weight: int | None) -> None:
        super().__init__()
        self._table, self._schema, self._weight = table, schema, weight

    def read(self, rows: pa.Table, told: str, before: int) -> tuple[pa.Table, Any]:
        name, is_signed = f"{self._table}, {told}", self._weight is None
        found = to_table(name, self._schema, rows, signed=is_signed, before=before)
        return (found if self._weight is None else with_weights(found, self._weight)), None


def posted(rows: Any, table: Table, weight: int | None, sites: Sites) -> Posted | None:
    """Rows of a DataFrame as tasks have written them; None for other rows, and where they are to come here.

    Raises DataError.
    """
    if not is_dataframe(rows):
        return None
    columns = columns_needed(table.name, table.schema, arrow_schema_of(rows), signed=weight is None, key=())
    frame = rows.select(*map(quoted, columns))
    return posted_by(Rows(table.name, table.schema, weight), frame, table, sites)


def posted_by(read: Reader, frame: DataFrame, table: Table, sites: Sites) -> Posted | None:
    """As `posted`, of what `read` makes of a DataFrame's rows, each in its task."""
    from deltic.engine.shards.posted import Posted
    from deltic.engine.spark.job import run_over

    if not frame.columns or (site := sites(table)) is None:
        return None
    return Posted.by(site, lambda: run_over(with_months(frame), partial(site.posting.over, read=read), ROWS))
