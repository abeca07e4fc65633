"""Numbers rows: rows that are equal, by the rules of keys and groups, have equal numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]


def row_numbers(rows: pa.Table, columns: Sequence[str]) -> Numbers:
    """Return a number below len(rows) for each row: equal for rows with equal values here; NULL equals NULL."""
    numbers: Numbers = np.zeros(len(rows), np.int64)
    for name in columns:
        result = _numbers(rows.column(name))
        combined = numbers * (int(result.max(initial=0)) + 1) + result
        numbers = np.unique(combined, return_inverse=True)[1].astype(np.int64).reshape(-1)
    return numbers


def last_of_each(numbers: Numbers) -> Numbers:
    """Return the last position of each number, in the order of the numbers."""
    return len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """Return a number for each value of a column."""
    if pa.types.is_nested(column.type):
        known: dict[Any, int] = {}
        return np.fromiter((known.setdefault(_plain(v), len(known)) for v in column.to_pylist()), np.int64, len(column))
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # makes one zero of the two
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices).astype(np.int64)


def _plain(value: Any) -> Any:
    """Return a hashable value that is equal for equal values."""
    if isinstance(value, dict):
        return tuple((name, _plain(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return "NaN" if isinstance(value, float) and value != value else value
