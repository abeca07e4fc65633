"""Z-sets as Arrow tables: the columns of the rows, and one column of int64 weights; and tables of watermarks.

A table may have a watermark table, of one row and one column, which holds a lower bound of future times. Its column has
the name of the table's time column. Later changes of the table have no time before the watermark, and the watermark
never falls; the caller that changes the tables ensures both. NULL bounds nothing.
"""

from __future__ import annotations

from typing import Any

from deltic import values
from deltic.algebra.zset import ZSet
from deltic.lazy import pa
from deltic.values.types import Schema
from deltic.values.types.arrow import type_of_arrow

WEIGHT = "__weight__"
"""The column of the weights: +1 inserts a row, −1 deletes it."""


def from_arrow(batch: pa.Table) -> ZSet[tuple[Any, ...]]:
    """Return the Z-set of a batch that has a column WEIGHT."""
    fields = [field for field in batch.schema if field.name != WEIGHT]
    columns = [values.from_arrow(batch.column(f.name), type_of_arrow(f.type)) for f in fields]
    weights = batch.column(WEIGHT).to_pylist()
    rows = zip(*columns, strict=True) if columns else [()] * len(weights)
    return ZSet(zip(rows, weights, strict=True))


def to_arrow(rows: ZSet[tuple[Any, ...]], schema: Schema) -> pa.Table:
    """Return the rows and their weights as an Arrow table."""
    pairs = list(rows)
    columns = [values.to_arrow((row[i] for row, _ in pairs), column.type) for i, column in enumerate(schema)]
    weights = pa.array([weight for _, weight in pairs], pa.int64())
    return pa.table([*columns, weights], schema=weighted(schema))


def weighted(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of a batch of changes: the columns of the rows and the weights."""
    return schema.to_arrow().append(pa.field(WEIGHT, pa.int64(), nullable=False))


_PREFIX, _WHOLE = "?watermark?", "?watermark_of_all?"


def watermark_of(table: str, *, is_whole: bool = False) -> str:
    """Return the name of the table that holds the watermark of a table, which keeps all of its rows if `is_whole`."""
    return f"{_WHOLE if is_whole else _PREFIX}{table}"
