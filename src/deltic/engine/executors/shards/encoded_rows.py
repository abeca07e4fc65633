"""Rows that shards of one process exchange: values as in the store, with ids that another shard translates to its own.

What must hold: a value of a type without ids is the same integer in every store. An id belongs to one interner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.storage.codec import decode, encode
from deltic.engine.storage.columns import Column, Values
from deltic.engine.storage.interner import Interner, is_interned, is_labelled
from deltic.engine.storage.run import NO_TIMES, Times, Weights
from deltic.values.hashing import SEED, Hashes, xxhash64
from deltic.values.types import Schema

ITERATION = "iteration\0"
"""The column with the iterations of rows that have them."""


class EncodedRows:
    """Rows of a schema with weights and possibly iterations; `interner` has their ids."""

    def __init__(
        self, schema: Schema, columns: Sequence[Column], weights: Weights, times: Times, interner: Interner
    ) -> None:
        self.schema, self.columns, self.times, self.interner = schema, list(columns), times, interner
        self.weights: Weights = np.ascontiguousarray(weights, dtype=np.int64)
        self._decoded: dict[int, pa.Array] = {}

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self.weights)

    def column(self, index: int) -> pa.Array:
        """Return a column as Arrow has it."""
        if index not in self._decoded:
            self._decoded[index] = decode(*self.columns[index], self.schema.columns[index].type, self.interner)
        return self._decoded[index]

    @cached_property
    def table(self) -> pa.Table:
        """The rows as a table with WEIGHT and, if there are iterations, ITERATION."""
        columns, fields = [self.column(index) for index in range(len(self.columns))], list(self.schema.to_arrow())
        columns.append(pa.array(self.weights))
        fields.append(pa.field(WEIGHT, pa.int64(), nullable=False))
        if self.times.size:
            columns.append(pa.array(self.times, pa.int32()))
            fields.append(pa.field(ITERATION, pa.int32()))
        return pa.table(columns, schema=pa.schema(fields))

    def take(self, indices: npt.NDArray[np.int64] | slice) -> EncodedRows:
        """Return the rows at these indices."""
        columns = [(values[indices], None if nulls is None else nulls[indices]) for values, nulls in self.columns]
        times = self.times[indices] if self.times.size else NO_TIMES
        return EncodedRows(self.schema, columns, self.weights[indices], times, self.interner)

    def slice(self, start: int, count: int) -> EncodedRows:
        """Return `count` rows from `start` on."""
        return self.take(slice(start, start + count))

    def columns_for(self, interner: Interner) -> list[Column]:
        """Return the columns as a store with this interner has them."""
        return [self._column_for(interner, index) for index in range(len(self.columns))]

    def _column_for(self, interner: Interner, index: int) -> Column:
        type_ = self.schema.columns[index].type
        if interner is self.interner or not is_labelled(type_):
            return self.columns[index]
        if not is_interned(type_):
            return encode(self.column(index), type_, interner)
        own, other = self.interner[type_], interner[type_]
        return self._by_id(index, lambda ids: other.translated(ids, own)), self.columns[index][1]

    def _by_id(self, index: int, numbers_of: Callable[[Values], Values], null: int = 0) -> Values:
        """Return a number for each row by the id in a column, and `null` where there is none."""
        ids, nulls = self.columns[index]
        if nulls is None or not nulls.any():
            return numbers_of(ids)
        result = np.full(len(ids), null, np.int64)
        result[~nulls] = numbers_of(ids[~nulls])
        return result

    def hashes(self, columns: Sequence[int]) -> Hashes:
        """Return Spark's xxhash64 of these columns of each row, uint64[n]."""
        if not columns or not is_interned(type_ := self.schema.columns[columns[0]].type):
            return xxhash64([self.column(c) for c in columns], self.num_rows)
        first = self._by_id(columns[0], lambda ids: self.interner[type_].hashes(ids).view(np.int64), SEED)
        return xxhash64([self.column(c) for c in columns[1:]], self.num_rows, first.view(np.uint64))


Rows: TypeAlias = pa.Table | EncodedRows
