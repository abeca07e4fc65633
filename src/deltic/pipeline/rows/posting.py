"""Rows of DataFrames that do not pass through this process: Spark's tasks convert them to rows of a table, and write
them.

Changes by key go to the shards that have all rows of a key; without such shards, they go to this process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.engine.batches import with_weights
from deltic.engine.keyed import MOST, ORDER, keys_as_rows
from deltic.pipeline.io.rounding import Rounding
from deltic.pipeline.rows.coerce import columns_needed, to_table
from deltic.pipeline.spark.spark import (
    arrow_schema_of,
    failed_rows,
    is_dataframe,
    quoted,
    reading_job,
    spark_errors,
    with_months,
)
from deltic.values.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltic.engine.executors.shards.staged_rows import StagedRows, StagingArea

# The bits of a row's number in its partition.
_ROWS_OF_PARTITION = 40

Sites: TypeAlias = "Callable[[CatalogTable], StagingArea | None]"
"""Where tasks may write rows of a table; None where they are to come to this process."""


class TaskReader(ABC):
    """What makes rows of a table of those of a DataFrame, in a task, part by part; a subclass says how."""

    def __init__(self, is_ordered: bool = False) -> None:
        self._before, self._made, self.is_ordered = 0, 0, is_ordered

    def __call__(self, rows: pa.Table) -> tuple[pa.Table, Any]:
        """Return the rows with weights, and with ORDER where they have one, and their description.

        Raises DataError, which names the partition.
        """
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        result, about = self.read(rows, f"partition {partition}", self._before)
        if self.is_ordered:
            places = np.arange(self._made, self._made + len(result), dtype=np.int64) + (partition << _ROWS_OF_PARTITION)
            result = result.append_column(pa.field(ORDER, pa.int64(), nullable=False), pa.array(places))
        self._before += len(rows)
        self._made += len(result)
        return result, about

    @abstractmethod
    def read(self, rows: pa.Table, message: str, before: int) -> tuple[pa.Table, Any]:
        """Return the same of a part of the partition that is `told`, in which this many rows came before."""


class PostedRows(TaskReader):
    """Rows of a table that have some columns, all or those of its key and others; without a `weight` they say it."""

    def __init__(
        self,
        table: str,
        columns: Schema,
        weight: int | None,
        of: CatalogTable | None = None,
        coerce: bool = False,
        optional: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Of a table which is given where rows may be about its key."""
        super().__init__(is_ordered=of is not None)
        self._table, self._columns, self._weight, self._of = table, columns, weight, of
        self._coerce, self._optional = coerce, dict(optional)

    def read(self, rows: pa.Table, message: str, before: int) -> tuple[pa.Table, Any]:
        name, key = f"{self._table}, {message}", self._of.key if self._of is not None else ()
        rounding, is_signed = Rounding() if self._coerce else None, self._weight is None
        key = key if is_signed else ()
        result = to_table(name, self._columns, rows, is_signed, key, before, rounding, self._optional)
        about = None if rounding is None else rounding.columns
        if self._weight is None:
            return result, about
        if self._of is not None:
            result = keys_as_rows(result, self._of.schema.to_arrow())
        return with_weights(result, self._weight), about


def posted(
    rows: Any,
    table: CatalogTable,
    columns: Schema,
    weight: int | None,
    sites: Sites,
    rounding: Rounding | None = None,
    optional: Mapping[str, Any] = MappingProxyType({}),
) -> StagedRows | None:
    """Rows of a DataFrame with these columns as tasks have written them; None for others, and where they come here.

    With `rounding` values that do not fit are rounded, and counted there; `optional` columns may be left out, as of
    `to_table`. Raises DataError.
    """
    if not is_dataframe(rows):
        return None
    is_by_key = bool(table.key) and (weight is None or abs(weight) > MOST)
    key = table.key if is_by_key else ()
    coerce = rounding is not None
    fields = arrow_schema_of(rows)
    names = columns_needed(table.name, columns, fields, weight is None, key, coerce, optional)
    read = PostedRows(table.name, columns, weight, table if is_by_key else None, coerce, optional)
    result = posted_by(read, rows.select(*map(quoted, names)), table, sites, is_by_key)
    if rounding is not None and result is not None:
        rounding.add(Rounding.total(result.report.about))
    return result


def posted_by(
    read: TaskReader, frame: DataFrame, table: CatalogTable, sites: Sites, is_by_key: bool = False
) -> StagedRows | None:
    """As `posted`, for the results of `read` over a DataFrame's rows, each in its task; they may be about keys."""
    from deltic.engine.executors.shards.staged_rows import StagedRows
    from deltic.engine.executors.spark.job import run_over

    if not frame.columns or (site := sites(table)) is None:
        return None
    if is_by_key:
        if not site.has_keys:
            return None
        site = site.by_key(read.is_ordered)
    description = reading_job(table.name)
    with spark_errors(partial(failed_rows, table.name)):
        return StagedRows.by(
            site, lambda: run_over(with_months(frame), partial(site.posting.over, read=read), description)
        )
