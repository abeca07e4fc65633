"""Results of expressions on columns: values, and where they are NULL, whatever the values are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deltic.engine.operators.numbers import Array, Result, natural
from deltic.engine.storage.codec import encode
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.layout import Nulls
from deltic.values.types import Type


def any_null(*nulls: Nulls) -> Nulls:
    """Where any of several results is NULL."""
    result = [n for n in nulls if n is not None and n.any()]
    return np.logical_or.reduce(result) if result else None


def where_defined(nulls: Nulls, arrays: Sequence[Array], compute: Callable[..., Result]) -> Result:
    """What is computed of the rows without NULL; NULL for the others."""
    if nulls is None or not nulls.any():
        return compute(*arrays)
    values, undefined = compute(*(array[~nulls] for array in arrays))
    result = np.zeros(len(nulls), values.dtype)
    result[~nulls] = values
    if undefined is not None:
        nulls = nulls.copy()
        nulls[~nulls] = undefined
    return result, nulls


def overwritten(mask: Array, result: Result, values: Array, nulls: Nulls = None) -> Result:
    """These values, which are overwritten, and those of a result where the mask is."""
    values = values.astype(np.result_type(values, result[0]), copy=False)
    nulls = np.zeros(len(mask), bool) if nulls is None else nulls
    values[mask], nulls[mask] = result[0], False if result[1] is None else result[1]
    return values, nulls


def as_result(values: Array, nulls: Nulls, type_: Type, interner: Interner) -> Result:
    """The values of a column, as relations hold it."""
    return where_defined(nulls, [values], lambda there: (natural(there, type_, interner), None))


def of_arrow(found: Any, type_: Type, interner: Interner) -> Result:
    """The values of an Arrow column of this type."""
    return as_result(*encode(found, type_, interner), type_, interner)
