"""Arrow tables as columns of int64 values. Compiled code reads all batches, one column after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
import pyarrow as pa

from deltic.engine.kernels import arrow_columns as kernel
from deltic.engine.kernels.loading import pointer_in
from deltic.engine.kernels.types import Ints
from deltic.engine.storage.codec import encode
from deltic.engine.storage.columns import Column, ColumnBlock
from deltic.engine.storage.interner import Interner, is_labelled
from deltic.values.types import Kind, Schema

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
    Kind.TIME: kernel.I64,
    Kind.YEAR_MONTH_INTERVAL: kernel.MONTHS,
    Kind.DAY_TIME_INTERVAL: kernel.I64,
    Kind.DECIMAL: kernel.PAIRS,
}


def encode_columns(tables: Sequence[pa.Table], schema: Schema, interner: Interner) -> Sequence[Column]:
    """Return the columns of the rows of tables as int64 values with their NULLs, as `encode` does for each.

    The first columns of the tables must be those of the schema, with its Arrow types.
    """
    codes, left_out = _codes(schema)
    block, start = ColumnBlock(len(schema), sum(map(len, tables))), 0
    for batch in chain.from_iterable(map(pa.Table.to_batches, tables)) if len(left_out) < len(schema) else ():
        _, exported = batch.__arrow_c_array__()
        kernel.read_columns(pointer_in(exported, b"arrow_array"), codes, block.into, start, block.nullable)
        start += len(batch)
    for place in left_out:
        given = [table.column(place) for table in tables]
        column = pa.chunked_array(chain.from_iterable(each.chunks for each in given), given[0].type)
        block.put(place, *encode(column, schema.columns[place].type, interner))
    return block


@lru_cache(1 << 10)
def _codes(schema: Schema) -> tuple[Ints, Sequence[int]]:
    """Return the codes of the columns' Arrow types; LEFT_OUT for labelled types, whose places are returned, too."""
    codes = [kernel.LEFT_OUT if is_labelled(t) else _CODES[t.kind] for t in (column.type for column in schema)]
    return np.array(codes, np.int64), [place for place, code in enumerate(codes) if code == kernel.LEFT_OUT]
