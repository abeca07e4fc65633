"""The columns of given rows, which may be only some of a table's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.errors import DelticError
from deltic.pipeline.names import find
from deltic.pipeline.reading.rows import Rows
from deltic.pipeline.spark.spark import is_dataframe
from deltic.values.types import Schema


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
    """The parts of `rows` that have the same columns, those of the key and some others, each with these columns."""
    names = _column_names(rows)
    if names is not None:
        yield rows, _columns(names, table)
        return
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise DelticError(f"table {table.name}: expected rows, found {type(rows).__name__}; one row is given as [row]")
    for columns, part in groupby(rows, lambda row: _names(row, table)):
        yield list(part), _columns(columns, table)


def _names(row: Any, table: CatalogTable) -> tuple[str, ...]:
    if not isinstance(row, Mapping):
        raise DelticError(
            f"table {table.name}: an update needs names, as dicts or a frame: the key and the columns to change; "
            f"found {row!r}"
        )
    return tuple(sorted(map(str, row)))


def _columns(names: Collection[str], table: CatalogTable) -> Schema:
    known = {column.name: column for column in table.schema}
    for name in names:
        find(name, "column", known, within=table.name)
    missing = [name for name in table.key if name not in names]
    if missing:
        raise DelticError(f"table {table.name}: an update needs its whole key; {', '.join(missing)} is missing")
    return Schema(tuple(column for column in table.schema if column.name in names))


def _column_names(rows: Any) -> list[str] | None:
    """The column names of a frame; None for other values."""
    if isinstance(rows, Rows):
        rows = rows.to_arrow()
    if isinstance(rows, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return list(rows.schema.names)
    if is_dataframe(rows):  # one of Spark Connect has a column of any name
        return list(rows.columns)
    if (fields := getattr(getattr(rows, "dtype", None), "names", None)) is not None:
        return list(fields)
    columns = getattr(rows, "columns", None)
    return None if columns is None or callable(columns) else list(map(str, columns))
