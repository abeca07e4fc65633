"""Decimals in Arrow's representation: integers in units of the last digit, as two 64-bit words, low word first."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from deltic.engine.storage.layout import Values
from deltic.values.types import Type


def words_of(column: pa.Array) -> tuple[Values, Values]:
    """Return the low and the high words of a column of decimals without NULL, as read-only views."""
    words = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    return words[:, 0], words[:, 1]


def of_words(low: Values, high: Values, type_: Type) -> pa.Array:
    """Return the column of decimals of these words, the inverse of `words_of`."""
    words = np.ascontiguousarray(np.stack([low, high], axis=1))
    return pa.Array.from_buffers(type_.arrow, len(low), [None, pa.py_buffer(words)])
