"""Rows that were read: in the form that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from deltic.pipeline.spark import active_session, to_dataframe

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from deltic.engine.batches import Batch

_SHOWN = 10


class Rows:
    """Rows of a table or view as they were when they were read. Iteration gives a tuple for each.

    It is a handle: the rows of a change become a table when they are first asked for.
    """

    def __init__(self, batch: Batch, spark: SparkSession | None = None) -> None:
        self._batch = batch
        self._spark = spark

    @cached_property
    def _table(self) -> pa.Table:
        return self._batch.to_arrow()

    def count(self) -> int:
        """The number of rows; none of them is moved."""
        return self._batch.count()

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._table

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        frame: pd.DataFrame = self._table.to_pandas()
        return frame

    def to_spark(self) -> DataFrame:
        """The rows as a Spark DataFrame, in the pipeline's session or the active one. Unsigned is decimal(20, 0)."""
        return to_dataframe(active_session(self._spark), self._table)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self._table.to_batches(max_chunksize=1 << 16):
            columns = [column.to_pylist() for column in batch.columns]
            yield from zip(*columns, strict=True) if columns else [()] * batch.num_rows

    def __len__(self) -> int:
        return self.count()

    def __repr__(self) -> str:
        lines = [f"  {row}" for row in islice(self, _SHOWN)]
        more = len(self) - len(lines)
        return "\n".join([", ".join(self._table.column_names), *lines, *([f"  and {more:,} more"] if more else [])])
