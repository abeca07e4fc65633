"""Rows that were read, and changes of rows, converted on demand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltic.circuit.tables import WEIGHT
from deltic.engine.changes import count
from deltic.html import table
from deltic.pipeline.reading.tabular import Tabular
from deltic.pipeline.spark.spark import active_session, to_dataframe
from deltic.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from deltic.engine.batches import Batch
    from deltic.pipeline.io.target import Format

_IN_NOTEBOOKS = 20


class Rows(Tabular):
    """Rows of a table or view at the time of reading. Iteration yields a named tuple for each.

    The rows of a change are decoded when you first ask for them.
    """

    def __init__(self, batch: Batch, spark: SparkSession | None = None) -> None:
        self._batch = batch
        self._spark = spark

    @cached_property
    def _table(self) -> pa.Table:
        return self._batch.to_arrow()

    def count(self) -> int:
        """The number of rows, without moving them."""
        return self._batch.count()

    def to_arrow(self) -> pa.Table:
        return self._table

    @property
    def schema(self) -> Schema:
        """The columns with their types."""
        return Schema.of_arrow(self.to_arrow().select(self.columns).schema)

    @property
    def columns(self) -> list[str]:
        return list(self._table.column_names)

    def to_spark(self) -> DataFrame:
        """The rows as a Spark DataFrame, in the pipeline's session or the active one. Unsigned is decimal(20, 0).

        Large ones go through a file that executors read: in the temporary directory of a session with a local master,
        or in the one that the setting `spark.deltic.directory` names. It lives as long as this process. Raises
        DelticError where it cannot be written.
        """
        from deltic.pipeline.spark.files import directory_of

        spark = active_session(self._spark)
        return to_dataframe(spark, self._table, directory_of(spark))

    def write(
        self, path: str | Path, kind: Format | None = None, *, delimiter: str | None = None, headers: bool = True
    ) -> None:
        """Write the rows to a file: delimited text (quoted as in RFC 4180), JSON lines, Parquet, or Arrow IPC.

        The suffix decides, or `kind`: "csv", "json", "parquet" or "arrow". Changes have their weights, as + or - in
        front in delimited text. `insert` and `change` read the file, delimited text as `deltic.File(path, headers=True,
        rfc4180=True)`. Raises DelticError.
        """
        from deltic.pipeline.io.files import write

        write(self._table, path, kind, delimiter, headers)

    def __len__(self) -> int:
        return self.count()

    def _repr_html_(self) -> str:
        result, count = self.head(_IN_NOTEBOOKS), self.count()
        lists = [column.to_pylist() for column in result.columns]
        below = f"{count:,} row{'s' * (count != 1)}"
        below += f", {_IN_NOTEBOOKS} of them shown" if count > _IN_NOTEBOOKS else ""
        return table(result.column_names, zip(*lists, strict=True), below=below)

    def __repr__(self) -> str:
        return self._text()


class Delta(Rows):
    """Rows with weights: 1 for a row that came, -1 for one that went.

    As a table it has the view's columns and one more, `__weight__`. Iteration gives pairs of a named tuple and its
    weight.
    """

    @property
    def columns(self) -> list[str]:
        return super().columns[:-1]

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        weights = chain.from_iterable(chunk.to_pylist() for chunk in self._table.column(WEIGHT).chunks)
        return zip(super().__iter__(), weights, strict=True)

    @property
    def inserted(self) -> int:
        """The number of inserted rows."""
        return count(self._weights())[0]

    @property
    def deleted(self) -> int:
        """The number of deleted rows."""
        return count(self._weights())[1]

    def _weights(self) -> Any:
        return self._table.column(WEIGHT).to_numpy()
