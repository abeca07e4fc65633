"""Many rows by column names at once, from Parquet, JSON or a DataFrame; agrees with `parse_object` row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.types import Column, Kind
from deltic.circuit.values import of_python, to_arrow
from deltic.engine.protocol import WEIGHT
from deltic.pipeline.io.layout import Layout, phrase
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.objects import DELETIONS, INSERTIONS, check_names, weight_columns
from deltic.pipeline.io.parsed import Parsed, arrow_schema, table_of
from deltic.pipeline.io.values import accepts, problem, whole


def check_columns(fields: pa.Schema, layout: Layout) -> None:
    """Raises Malformed when a column is missing or cannot hold values of the relation's type."""
    check_names(fields.names, layout)
    for column in layout.schema:
        found = fields.field(column.name).type
        if not accepts(column.type, found):
            raise Malformed(f"column {column.name}: expected {phrase(column.type)}, found a column of type {found}")


def conform(table: pa.Table, layout: Layout) -> Parsed:
    """The rows of a table that passed `check_columns`, as rows of the relation; other columns are dropped."""
    columns = [typed(table[column.name], column) for column in layout.schema]
    wrong = [_nulls(values) for column, values in zip(layout.schema, columns, strict=True) if not column.nullable]
    if layout.signed:
        columns.append(_weights(table, layout))
        wrong.append(_nulls(columns[-1]))
    rows = table_of(columns, arrow_schema(layout.schema, layout.signed), len(table))
    return _without(rows, [mask for mask in wrong if mask is not None])


def typed(values: Any, column: Column) -> Any:
    """The values as those of the column, null where they do not fit it."""
    if is_exact(values.type, column):
        try:
            return values.cast(column.type.arrow)
        except pa.ArrowInvalid:
            pass
    found = [None if problem(value, column) else value for value in map(whole, values.to_pylist())]
    return to_arrow([of_python(value, column.type) for value in found], column.type)


def is_exact(arrow: pa.DataType, column: Column) -> bool:
    """Whether Arrow's cast to the column's type keeps every value or fails."""
    if column.type.kind in (Kind.MAP, Kind.YEAR_MONTH_INTERVAL):
        return False
    if column.type.is_composite:
        return bool(arrow == column.type.arrow)
    if column.type.is_float:
        return bool(pa.types.is_integer(arrow) or (pa.types.is_floating(arrow) and arrow.bit_width <= column.type.bits))
    return True


def _weights(table: pa.Table, layout: Layout) -> Any:
    """The weight of each row, null where there is none."""
    found = [_weight_column(table[name], name) for name in weight_columns(layout) if name in table.column_names]
    return pc.coalesce(*found)


def _weight_column(values: Any, name: str) -> Any:
    if name == WEIGHT:
        weights = values.cast(pa.int64(), safe=False) if pa.types.is_integer(values.type) else pa.nulls(len(values))
        weights = weights.cast(pa.int64())
        return pc.if_else(pc.equal(weights, 0), pa.scalar(None, pa.int64()), weights)
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return pa.nulls(len(values), pa.int64())
    lowered = pc.utf8_lower(values)
    deletion = pa.scalar(None, pa.int64())
    deletion = pc.if_else(pc.is_in(lowered, pa.array(DELETIONS, values.type)), pa.scalar(-1, pa.int64()), deletion)
    return pc.if_else(pc.is_in(lowered, pa.array(INSERTIONS, values.type)), pa.scalar(1, pa.int64()), deletion)


def _nulls(values: Any) -> Any:
    return pc.is_null(values) if values.null_count else None


def _without(rows: pa.Table, masks: list[Any]) -> Parsed:
    if not masks:
        return Parsed(rows, [])
    wrong = np.logical_or.reduce([mask.to_numpy(zero_copy_only=False) for mask in masks])
    return Parsed(rows.filter(pa.array(~wrong)), np.flatnonzero(wrong).tolist())
