"""Spark's hashes of several values of any types, which stand in turn with the names of their types before them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from deltic.functions.function import FUNCTIONS, Function
from deltic.values.arrow import to_arrow
from deltic.values.types import Type
from deltic.values.types.names import type_named


def _columns_hashed(name: str, type_: Type, parts: Sequence[Any], count: int) -> Any:
    return _rows_hashed(name, type_, parts[1::2], count)


def _rows_hashed(name: str, type_: Type, columns: Sequence[Any], count: int) -> Any:
    """The hashes of rows of Arrow columns, in one of the integer type."""
    import pyarrow as pa

    from deltic.values import hashing

    found = getattr(hashing, name)(columns, count)
    return pa.array(found.view(f"i{found.itemsize}"), type_.arrow)


def _hashed(name: str, type_: Type, *parts: Any) -> int:
    columns = [to_arrow([value], type_named(of)) for of, value in zip(parts[::2], parts[1::2], strict=True)]
    found: int = _rows_hashed(name, type_, columns, 1)[0].as_py()
    return found


def _hash(name: str, type_: Type) -> Function:
    return Function(
        type_,
        python=partial(_hashed, name, type_),
        columns=partial(_columns_hashed, name, type_),
        strict=False,
        nullable=False,
    )


FUNCTIONS |= {"hash": _hash("murmur3", Type.INT32), "xxhash64": _hash("xxhash64", Type.INT64)}
