"""Arrow tables as columns of int64 values. Compiled code reads all batches, one column after the other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from deltic.engine.kernels import arrow_columns as kernel
from deltic.engine.kernels.loading import pointer_in
from deltic.engine.kernels.memory import address_of
from deltic.engine.kernels.types import Table
from deltic.engine.storage import spilling as space
from deltic.engine.storage.codec import encode
from deltic.engine.storage.interner import Interner, is_labelled
from deltic.engine.storage.layout import Column
from deltic.values.types import Kind, Schema, Type

_CODES = {
    Kind.BOOLEAN: kernel.BITS,
    Kind.INT8: kernel.I8,
    Kind.INT16: kernel.I16,
    Kind.INT32: kernel.I32,
    Kind.INT64: kernel.I64,
    Kind.UINT8: kernel.U8,
    Kind.UINT16: kernel.U16,
    Kind.UINT32: kernel.U32,
    Kind.UINT64: kernel.U64,
    Kind.FLOAT32: kernel.SINGLES,
    Kind.FLOAT64: kernel.DOUBLES,
    Kind.DATE: kernel.I32,
    Kind.TIMESTAMP: kernel.I64,
    Kind.TIMESTAMP_NTZ: kernel.I64,
    Kind.YEAR_MONTH_INTERVAL: kernel.MONTHS,
    Kind.DAY_TIME_INTERVAL: kernel.I64,
    Kind.DECIMAL: kernel.PAIRS,
}


def encode_columns(rows: pa.Table, schema: Schema, interner: Interner) -> list[Column]:
    """Return the columns of rows as int64 values with their NULLs, as `encode` does for each.

    The first columns of the rows must be those of the schema, with its Arrow types.
    """
    count = len(rows)
    columns: list[Column] = []
    table = np.zeros((len(schema), 3), np.int64)
    for place, column in enumerate(schema):
        given = rows.column(place)
        if (code := _code(column.type)) == kernel.LEFT_OUT:
            values, nulls = encode(given, column.type, interner)
            columns.append((space.kept(values), nulls))
        else:
            values = space.empty((count,), np.dtype(np.int64))
            nulls = np.empty(count, bool) if given.null_count else None
            table[place] = code, address_of(values), 0 if nulls is None else address_of(nulls)
            columns.append((values, nulls))
    _read(rows, table)
    return columns


def _read(rows: pa.Table, columns: Table) -> None:
    """Read the columns whose code is not LEFT_OUT."""
    start = 0
    for batch in rows.to_batches() if columns.any() else ():
        _, exported = batch.__arrow_c_array__()
        kernel.read_columns(pointer_in(exported, b"arrow_array"), columns, start)
        start += len(batch)


@cache
def _code(type_: Type) -> int:
    """Return the code of a type's Arrow representation; LEFT_OUT for labelled types."""
    return kernel.LEFT_OUT if is_labelled(type_) else _CODES[type_.kind]
