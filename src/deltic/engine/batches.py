"""The form of a batch of changes: what every engine may rely on before it looks at a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltic.circuit.types import Schema
from deltic.engine.protocol import WEIGHT
from deltic.errors import ChangeError

if TYPE_CHECKING:
    import pyarrow as pa


def conforming(table: str, batch: pa.Table, schema: Schema) -> pa.Table:
    """The batch with exactly the schema's columns and WEIGHT, in order, of their types.

    Narrower and equivalent types are converted when no value is lost. Raises ChangeError for a column that is
    missing or unknown, for a value that its type does not hold, and for a null where none may be.
    """
    import pyarrow as pa

    fields = schema.to_arrow().append(pa.field(WEIGHT, pa.int64(), nullable=False))
    if sorted(batch.column_names) != sorted(fields.names):
        found, wanted = (", ".join(names) for names in (batch.column_names, fields.names))
        raise ChangeError(f"table {table}: a batch of changes has the columns {wanted}; found {found}")
    return pa.table([_column(table, batch.column(field.name), field) for field in fields], schema=fields)


def _column(table: str, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    import pyarrow as pa

    if column.null_count and not field.nullable:
        raise ChangeError(f"table {table}: column {field.name} of a batch of changes has a null; it holds none")
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowException as error:
        raise ChangeError(f"table {table}: column {field.name} of a batch of changes: {error}") from None
