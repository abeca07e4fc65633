"""Columns of rows' values from and to Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from deltic.circuit.types import Type
from deltic.circuit.values.python import of_python, to_python

if TYPE_CHECKING:
    import pyarrow as pa


def from_arrow(column: pa.Array | pa.ChunkedArray, type_: Type) -> list[Any]:
    """The values of a column of the type, as they stand in rows."""
    return [of_python(value, type_) for value in column.to_pylist()]


def to_arrow(values: Iterable[Any], type_: Type) -> pa.Array:
    """A column of values from rows."""
    import pyarrow as pa

    return pa.array([to_python(value, type_) for value in values], type_.arrow)
