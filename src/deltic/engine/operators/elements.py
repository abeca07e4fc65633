"""The elements of array columns: flattened with the rows that they belong to, at one index, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from deltic.engine.operators.numbers import Array
from deltic.values.types import Type


def lengths_of(arrays: pa.ListArray) -> Array:
    """Return the length of each array: int64[n]. No array is NULL."""
    result: Array = np.diff(np.asarray(arrays.offsets)).astype(np.int64)
    return result


def parents_of(lengths: Array) -> Array:
    """Return the row of each element: int64[the sum of the lengths]."""
    return np.repeat(np.arange(len(lengths)), lengths)


def arrays_of(elements: pa.Array, lengths: Array, type_: Type) -> pa.Array:
    """Return arrays of these lengths from consecutive elements."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), elements, type=type_.arrow)


def at(arrays: pa.ListArray, rows: Array, place: int) -> pa.Array:
    """Return the elements at index `place`, from 0, of the arrays of some rows, which have one there."""
    return arrays.values.take(pa.array(np.asarray(arrays.offsets)[:-1][rows] + place))
