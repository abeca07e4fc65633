"""Rows that were read: in the form that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltic.extras import required
from deltic.pipeline.notebook import table
from deltic.pipeline.spark.spark import active_session, to_dataframe

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from deltic.engine.batches import Batch
    from deltic.pipeline.io.target import Format

_SHOWN = 10
_IN_NOTEBOOKS = 20


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
        """The rows as a pandas DataFrame; raises DelticError where pandas is not installed."""
        required("pandas", "to_pandas")
        frame: pd.DataFrame = self._table.to_pandas()
        return frame

    def to_spark(self) -> DataFrame:
        """The rows as a Spark DataFrame, in the pipeline's session or the active one. Unsigned is decimal(20, 0).

        Large ones are written to a file that executors read, in the temporary directory of a session whose master is
        local, and in the one that the setting `spark.deltic.directory` of any session names. It is there as long as
        this process. Raises DelticError where it cannot be written.
        """
        from deltic.pipeline.spark.files import directory_of

        spark = active_session(self._spark)
        return to_dataframe(spark, self._table, directory_of(spark))

    def head(self, count: int) -> pa.Table:
        """The first rows as an Arrow table."""
        return self._table.slice(0, count)

    def write(
        self, path: str | Path, kind: Format | None = None, *, delimiter: str | None = None, headers: bool = True
    ) -> None:
        """Write the rows to a file: delimited text (quoted as in RFC 4180), JSON lines, Parquet, or Arrow IPC.

        The ending of the name decides, unless `kind` does: "csv", "json", "parquet" or "arrow". Changes have their
        weights, as + or - in front in delimited text. What `write` has written, `insert` and `change` read: as
        `deltic.File(path, headers=True, rfc4180=True)` where it is delimited text. Raises DelticError.
        """
        from deltic.pipeline.io.files import write

        write(self._table, path, kind, delimiter, headers)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self._table.to_batches(max_chunksize=1 << 16):
            columns = [column.to_pylist() for column in batch.columns]
            yield from zip(*columns, strict=True) if columns else [()] * batch.num_rows

    def __len__(self) -> int:
        return self.count()

    def _repr_html_(self) -> str:
        found, count = self.head(_IN_NOTEBOOKS), self.count()
        lists = [column.to_pylist() for column in found.columns]
        below = f"{count:,} row{'s' * (count != 1)}"
        below += f", {_IN_NOTEBOOKS} of them shown" if count > _IN_NOTEBOOKS else ""
        return table(found.column_names, zip(*lists, strict=True), below=below)

    def __repr__(self) -> str:
        lines = [f"  {row}" for row in islice(self, _SHOWN)]
        more = len(self) - len(lines)
        return "\n".join([", ".join(self._table.column_names), *lines, *([f"  and {more:,} more"] if more else [])])
