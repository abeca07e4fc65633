"""Results of expressions on columns: values and a NULL mask. Values at NULLs are arbitrary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deltic.engine.operators.numbers import Array, Result, natural
from deltic.engine.storage.codec import encode
from deltic.engine.storage.columns import Nulls
from deltic.engine.storage.interner import Interner
from deltic.values.types import Type


def any_null(*nulls: Nulls) -> Nulls:
    """Return where any of several results is NULL."""
    result = [n for n in nulls if n is not None and n.any()]
    return np.logical_or.reduce(result) if result else None


def where_defined(nulls: Nulls, arrays: Sequence[Array], compute: Callable[..., Result]) -> Result:
    """Compute the rows without NULL; the others are NULL."""
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
    """Return these values, overwritten by a result where the mask is true. Modifies the arrays."""
    values = values.astype(np.result_type(values, result[0]), copy=False)
    nulls = np.zeros(len(mask), bool) if nulls is None else nulls
    values[mask], nulls[mask] = result[0], False if result[1] is None else result[1]
    return values, nulls


def as_result(values: Array, nulls: Nulls, type_: Type, interner: Interner) -> Result:
    """Return the values of a stored column as a result."""
    return where_defined(nulls, [values], lambda there: (natural(there, type_, interner), None))


def of_arrow(found: Any, type_: Type, interner: Interner) -> Result:
    """Return the values of an Arrow column of this type as a result."""
    return as_result(*encode(found, type_, interner), type_, interner)
