"""Rows in the forms of other libraries: as an Arrow table, or as rows of Python where a column has several types.

Given rows may have only some of the columns of a table: those of its key, or also those to update.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.errors import DataError, DelticError, Diagnostic, did_you_mean
from deltic.lazy import np
from deltic.pipeline.io.columns import REFUSED
from deltic.pipeline.rows.rows import Rows
from deltic.pipeline.spark.spark import arrow_schema_of, from_dataframe, is_dataframe, quoted
from deltic.values.types import Schema
from deltic.without_pandas import postpone_pandas

if TYPE_CHECKING:
    import pandas as pd

postpone_pandas()

Check = Callable[[pa.Schema], list[str]]
"""Refuses columns before a row moves, or returns which of them are needed."""


def tabular(table: str, rows: Any, names: tuple[str, ...], check: Check) -> Any:
    """Return the rows as an Arrow table, whose columns match by name; rows of Python as they are.

    `table` is where they go, as Spark's pages say. Columns that `check` does not ask for do not move. An array of two
    dimensions has the columns called `names`.
    """
    if isinstance(rows, Rows):
        rows = rows.to_arrow()
    if _is_of("polars", rows) and hasattr(rows, "collect"):  # a LazyFrame
        rows = rows.collect()
    if is_dataframe(rows):
        return from_dataframe(rows.select(*map(quoted, check(arrow_schema_of(rows)))), table)
    if _is_of("pandas", rows) and hasattr(rows, "columns"):
        return _of_pandas(rows, check)
    if _is_of("numpy", rows):
        return _of_numpy(rows, names, check)
    if isinstance(rows, pa.Table):
        return rows.select(check(rows.schema))
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        return _of_arrow(rows, check)
    if hasattr(rows, "__dataframe__"):
        from pyarrow.interchange import from_dataframe as of_interchange

        return _of_arrow(of_interchange(rows), check)
    return rows


def is_column(value: Any) -> bool:
    """Return whether this is a single column of Arrow, pandas or Spark instead of rows."""
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return True
    is_one = type(value).__name__ in ("Series", "Index", "Column")
    return is_one and any(_is_of(library, value) for library in ("pandas", "polars", "pyspark"))


def _is_of(library: str, value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == library


def _of_arrow(rows: Any, check: Check) -> pa.Table:
    """Return an object with Arrow's interface: a batch, a reader, a polars frame, a DuckDB relation."""
    try:
        if isinstance(rows, pa.RecordBatch) or not hasattr(rows, "__arrow_c_stream__"):
            rows = pa.Table.from_batches([pa.record_batch(rows)]).to_reader()
        reader = rows if isinstance(rows, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(rows)
        wanted = check(reader.schema)
        # Arrow's own kernels fail on an empty batch that is a slice of another one.
        return pa.Table.from_batches([batch for batch in reader if batch.num_rows], reader.schema).select(wanted)
    except pa.ArrowException as error:
        raise DataError([Diagnostic(f"the rows could not be read: {error}")]) from error


def _of_pandas(frame: pd.DataFrame, check: Check) -> Any:
    """Convert a pandas DataFrame by column labels; missing values become null."""
    frame = _with_index(frame)
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    columns = {name: frame[name] for name in frame.columns if list(frame.columns).count(name) == 1}
    if len(columns) < frame.shape[1]:
        check(pa.schema([pa.field(name, pa.null()) for name in frame.columns]))
    return _of_columns(columns, lambda column: column.astype(object).where(column.notna(), None).tolist(), check)


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a pandas DataFrame whose named index levels are columns, too."""
    names = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(names) if names else frame


def _of_numpy(array: np.ndarray[Any, Any], names: tuple[str, ...], check: Check) -> Any:
    """Convert a structured array by field names, a two-dimensional one by column positions."""
    if array.dtype.names is not None and array.ndim == 1:
        columns = {name: array[name] for name in array.dtype.names}
    elif array.ndim == 2 and array.shape[1] == len(names):
        columns = dict(zip(names, array.T, strict=True))
    else:
        return array.tolist() if array.ndim == 2 else array
    return _of_columns(columns, lambda column: column.tolist(), check)


def _of_columns(columns: dict[str, Any], values: Callable[[Any], Iterable[Any]], check: Check) -> Any:
    """Return a table of the columns; dicts, to find the row, when one holds values of several types."""
    try:
        table = pa.table([_array(column) for column in columns.values()], names=list(columns))
    except REFUSED:
        lists = [values(column) for column in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
    return table.select(check(table.schema))


def _array(column: Any) -> Any:
    """Return a column as Arrow's; raises TypeError for objects of several classes, and for those that have parts.

    Of these Arrow changes some to what others are, where the table's type says what each has to be.
    """
    if column.dtype == object and len({type(value) for value in column if value is not None}) > 1:
        raise TypeError
    result = pa.array(column)
    if column.dtype == object and pa.types.is_nested(result.type):
        raise TypeError
    return result


def with_key_alone(rows: Any, table: CatalogTable) -> tuple[Any, bool]:
    """Return the rows, and whether they have only the key's columns. An iterator is replaced by a list.

    The first row decides; for tuples their length.
    """
    names = _column_names(rows)
    if names is None and getattr(rows, "ndim", 1) == 2:
        return rows, rows.shape[1] == len(table.key)
    if names is None and isinstance(rows, Iterable) and not isinstance(rows, str | bytes | Mapping):
        rows = rows if isinstance(rows, Collection) else list(rows)
        first = next(iter(rows), None)
        if isinstance(first, Sequence) and not isinstance(first, str | bytes):
            return rows, len(first) == len(table.key)
        names = list(first) if isinstance(first, Mapping) else None
    return rows, names is not None and set(names) == set(table.key)


def updates(rows: Any, table: CatalogTable) -> Iterator[tuple[Any, Schema]]:
    """Yield the parts of `rows` that have the same columns, the key's and some others, each with these columns."""
    names = _column_names(rows)
    if names is not None:
        yield rows, _columns(names, table, f"table {table.name}")
        return
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise DelticError(f"table {table.name}: expected rows, found {type(rows).__name__}; one row is given as [row]")
    number = 1
    for columns, part in groupby(rows, lambda row: _names(row, table)):
        alike = list(part)
        yield alike, _columns(columns, table, f"table {table.name}, row {number}")
        number += len(alike)


def _names(row: Any, table: CatalogTable) -> tuple[str, ...]:
    if not isinstance(row, Mapping):
        raise DelticError(
            f"table {table.name}: an update needs names, as dicts or a frame: the key and the columns to change; "
            f"found {row!r}"
        )
    return tuple(sorted(map(str, row)))


def _columns(names: Collection[str], table: CatalogTable, place: str) -> Schema:
    for extra in (name for name in names if name not in table.schema.names):
        hint = did_you_mean(extra, table.schema.names) or f"the columns are {table.schema}"
        raise DataError([Diagnostic(f"{place}: there is no column {extra}", hint=hint)])
    missing = [name for name in table.key if name not in names]
    if missing:
        raise DelticError(f"{place}: an update needs its whole key; {', '.join(missing)} is missing")
    return Schema(tuple(column for column in table.schema if column.name in names))


def _column_names(rows: Any) -> list[str] | None:
    """Return the column names of a frame; None for other values."""
    if isinstance(rows, Rows):
        rows = rows.to_arrow()
    if isinstance(rows, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return list(rows.schema.names)
    if is_dataframe(rows):  # one of Spark Connect has a column of any name
        return list(rows.columns)
    if (fields := getattr(getattr(rows, "dtype", None), "names", None)) is not None:
        return list(fields)
    columns = getattr(_with_index(rows) if _is_of("pandas", rows) else rows, "columns", None)
    return None if columns is None or callable(columns) else list(map(str, columns))
