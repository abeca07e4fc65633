"""Rows that were read, and changes of rows: converted to tables and frames of other libraries, and to named tuples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import TableBatch
from deltic.engine.changes import count
from deltic.errors import DelticError, count_of
from deltic.extras import required
from deltic.html import table
from deltic.pipeline.spark.spark import active_session, to_dataframe
from deltic.values.types import Schema

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from deltic.engine.batches import Batch
    from deltic.pipeline.io.target import Format

_SHOWN, _IN_NOTEBOOKS = 10, 20
_WIDEST = 60
"""The characters of a value in a table of text."""


class Tabular(ABC):
    """Rows with named columns: `to_arrow` gives all other forms.

    Whatever reads Arrow's streams takes them as they are: `polars.DataFrame(rows)`, `pyarrow.table(rows)`, DuckDB.
    """

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The names of the columns."""

    def to_pandas(self, floats: bool = False) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame; with `floats`, decimals as float64 instead of objects.

        Raises DelticError where pandas is not installed.
        """
        required("pandas", "to_pandas")
        frame: pd.DataFrame = (_with_floats(self.to_arrow()) if floats else self.to_arrow()).to_pandas()
        return frame

    df = to_pandas
    """As DuckDB calls it."""

    def to_polars(self) -> Any:
        """Return the rows as a polars DataFrame; raises DelticError where polars is not installed."""
        return required("polars", "to_polars").from_arrow(self.to_arrow())

    @abstractmethod
    def head(self, count: int) -> Rows:
        """Return the first rows."""

    def show(self, count: int = 20) -> None:
        """Print the first rows, and how many more there are."""
        print(self._text(count))  # noqa: T201 it is what `show` is for

    def __iter__(self) -> Iterator[Any]:
        names, table = tuple(self.columns), self.to_arrow()
        make = row_type(names)._make
        for batch in table.to_batches(max_chunksize=1 << 16):
            lists = [column.to_pylist() for column in batch.columns[: len(names)]]
            yield from map(make, zip(*lists, strict=True)) if lists else [make(())] * batch.num_rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self.to_arrow().__dataframe__(nan_as_null, allow_copy)

    def _text(self, count: int = _SHOWN) -> str:
        """Return the column names, the first rows, and the number of further ones, as lines."""
        rows = self.to_arrow()
        more = len(rows) - count
        below = "\nno rows" if not rows else f"\nand {more:,} more" if more > 0 else ""
        return _text_table(rows.slice(0, count)) + below


def without_weights(rows: pa.Table, name: str) -> pa.Table:
    """Return the rows as a version reads them; raises DelticError where they have weights, since one is negative."""
    if WEIGHT in rows.column_names:
        raise DelticError(
            f"{name} has rows of negative weight, which only pipeline[…] shows; "
            "take the positive ones by flow.distinct(), or sum them up by GROUP BY"
        )
    return rows


@cache
def row_type(names: Sequence[str]) -> Any:
    """Return the named tuple class for these columns; invalid field names become _0, _1, … by position.

    Its values are printed and pickled as plain tuples.
    """
    base = namedtuple("Row", names, rename=True)  # type: ignore[misc]
    return type("Row", (base,), {"__slots__": (), "__repr__": tuple.__repr__, "__reduce__": _reduced})


def _reduced(row: tuple[Any, ...]) -> tuple[type, tuple[tuple[Any, ...]]]:
    """Pickle a row as a plain tuple."""
    return tuple, (tuple(row),)


def _with_floats(table: pa.Table) -> pa.Table:
    """Return the table with decimals as float64."""

    fields = [f.with_type(pa.float64()) if pa.types.is_decimal(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))


def _text_table(rows: pa.Table) -> str:
    """Return the column names and the rows, numbers to the right; long values are cut."""
    if not rows.num_columns:
        return f"{count_of(rows.num_rows, 'row')} without columns"
    columns = [_aligned(field, column) for field, column in zip(rows.schema, rows.columns, strict=True)]
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def value_text(value: Any) -> str:
    """Return a value as SQL writes it, texts without quotes."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    return str(value)


def is_number(type_: pa.DataType) -> bool:
    """Return whether values of the type are aligned to the right."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))


def _aligned(field: pa.Field, values: pa.ChunkedArray) -> list[str]:
    cells = [_cut(text) for text in (field.name, *map(value_text, values.to_pylist()))]
    width = max(map(len, cells))
    return [cell.rjust(width) if is_number(field.type) else cell.ljust(width) for cell in cells]


def _cut(text: str) -> str:
    line = "⏎".join(text.splitlines())
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"


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
        """Return the number of rows, without moving them."""
        return self._batch.count()

    def to_arrow(self) -> pa.Table:
        return self._table

    def head(self, count: int) -> Rows:
        return Rows(TableBatch(self._table.slice(0, count)), self._spark)

    @property
    def schema(self) -> Schema:
        """The columns with their types."""
        return Schema.of_arrow(self.to_arrow().select(self.columns).schema)

    @property
    def columns(self) -> list[str]:
        return list(self._table.column_names)

    def to_spark(self) -> DataFrame:
        """Return the rows as a Spark DataFrame, in the pipeline's session or the active one. Unsigned is decimal(20,
        0).

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
        result, count = self._table.slice(0, _IN_NOTEBOOKS), self.count()
        lists = [column.to_pylist() for column in result.columns]
        below = count_of(count, "row")
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

    def head(self, count: int) -> Delta:
        return Delta(TableBatch(self._table.slice(0, count)), self._spark)

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
