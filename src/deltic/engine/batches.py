"""Batches of changes: handles of rows with weights, in a form on which every engine may rely.

A batch is a table in memory, or something that can become one, such as a DataFrame: rows move when they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from deltic.circuit.tables import WEIGHT
from deltic.errors import ChangeError
from deltic.lazy import np, pa
from deltic.values.types import Schema

if TYPE_CHECKING:
    import numpy.typing as npt


class Batch(Protocol):
    """A handle of rows with weights."""

    def to_arrow(self) -> pa.Table:
        """Return the rows, in memory, with a column WEIGHT."""

    def count(self) -> int:
        """Return the number of rows, not counting weights."""

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows in parts, of which only one has to be in memory."""


@dataclass(frozen=True)
class TableBatch:
    """Rows in memory in the form of a batch of a table, as `conforming` returns them, and `more` after them.

    Rows of one `weight` have no column WEIGHT. Other weights may be the marks of changes by key.
    """

    rows: pa.Table
    weight: int | None = None
    more: tuple[TableBatch, ...] = ()

    def to_arrow(self) -> pa.Table:
        """Return the rows, with a column WEIGHT."""
        own = self.rows if self.weight is None else with_weights(self.rows, self.weight)
        return pa.concat_tables([own, *(each.to_arrow() for each in self.more)]) if self.more else own

    def weights(self) -> npt.NDArray[np.int64]:
        """Return the weight of each row."""
        if self.more:
            return np.concatenate([each.weights() for each in (replace(self, more=()), *self.more)])
        if self.weight is not None:
            return np.full(len(self.rows), self.weight, np.int64)
        return np.ascontiguousarray(self.rows.column(WEIGHT).to_numpy(), dtype=np.int64)

    def count(self) -> int:
        """Return the number of rows, not counting weights."""
        return int(self.rows.num_rows) + sum(each.count() for each in self.more)

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows."""
        yield self.to_arrow()


@dataclass(frozen=True)
class ConcatenatedBatch:
    """The rows of one or more batches of one table."""

    batches: tuple[Batch, ...]

    @classmethod
    def of(cls, batches: Sequence[Batch]) -> Batch:
        """Return batches as one; those of tables in memory as one that is in memory, too."""
        if len(batches) == 1:
            return batches[0]
        tables = [batch for batch in batches if isinstance(batch, TableBatch)]
        if len(tables) == len(batches):
            first, *others = (replace(part, more=()) for table in tables for part in (table, *table.more))
            return replace(first, more=tuple(others))
        return cls(tuple(batches))

    def to_arrow(self) -> pa.Table:
        """Return the rows, with a column WEIGHT."""
        return pa.concat_tables([batch.to_arrow() for batch in self.batches])

    def count(self) -> int:
        """Return the number of rows, not counting weights."""
        return sum(batch.count() for batch in self.batches)

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows in parts."""
        for batch in self.batches:
            yield from batch.parts()


# The changes of a table as an engine takes them: a handle, or rows whose form it has to check.
Changed: TypeAlias = "Batch | pa.Table"


def apart(batch: Changed) -> Sequence[Changed]:
    """Return the batches of which a batch consists."""
    return batch.batches if isinstance(batch, ConcatenatedBatch) else (batch,)


def rows_of(batch: Changed) -> int:
    """Return the number of rows of a batch, not counting weights."""
    return int(batch.num_rows) if isinstance(batch, pa.Table) else batch.count()


def in_memory(table: str, batch: Changed, schema: Schema) -> TableBatch:
    """Return a table's batch in memory, in the form of `conforming`. ChangeError if the rows do not fit."""
    if isinstance(batch, TableBatch):
        return batch
    return TableBatch(conforming(table, batch if isinstance(batch, pa.Table) else batch.to_arrow(), schema))


def conforming(table: str, batch: pa.Table, schema: Schema) -> pa.Table:
    """Return the batch with exactly the schema's columns and WEIGHT, in order, with their types.

    Narrower and equivalent types are converted if no value is lost. Raises ChangeError for a missing or unknown column,
    for a value that its type cannot hold, and for a NULL in a column without NULLs.
    """
    fields = schema.to_arrow().append(pa.field(WEIGHT, pa.int64(), nullable=False))
    if sorted(batch.column_names) != sorted(fields.names):
        result, wanted = (", ".join(names) for names in (batch.column_names, fields.names))
        raise ChangeError(f"table {table}: a batch of changes has the columns {wanted}; found {result}")
    return pa.table([_column(table, batch.column(field.name), field) for field in fields], schema=fields)


def _column(table: str, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.null_count and not field.nullable:
        raise ChangeError(f"table {table}: column {field.name} of a batch of changes has a null; it holds none")
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowException as error:
        raise ChangeError(f"table {table}: column {field.name} of a batch of changes: {error}") from None


def with_weights(rows: pa.Table, weights: npt.NDArray[np.int64] | int) -> pa.Table:
    """Return the rows with a column WEIGHT: these weights, or the same one for each row."""
    result = pa.repeat(pa.scalar(weights, pa.int64()), len(rows)) if isinstance(weights, int) else pa.array(weights)
    field = pa.field(WEIGHT, pa.int64(), nullable=False)
    return rows.append_column(field, result) if rows.num_columns else pa.table([result], schema=pa.schema([field]))


def to_stream(rows: pa.Table, batch: int | None = None, compression: str | None = None) -> pa.Buffer:
    """Return a table as a stream, in batches of at most `batch` rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
        stream.write_table(rows, max_chunksize=batch)
    return sink.getvalue()


def of_stream(data: object) -> pa.Table:
    """Return the table of a stream in a buffer, without copying its columns."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
        return stream.read_all()
