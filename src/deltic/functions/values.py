"""Functions of values of any types: hashes, whose operands alternate between type names and values, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from deltic.functions.function import FUNCTIONS, Function
from deltic.lazy import pa
from deltic.values.types import Type


def _hashed(name: str, type_: Type, parts: Sequence[Any], count: int) -> Any:
    """Return the hashes of rows of Arrow columns, in one of the integer type."""
    from deltic.values import hashing

    result = getattr(hashing, name)(parts[1::2], count)
    return pa.array(result.view(f"i{result.itemsize}"), type_.arrow)


def _hash(name: str, type_: Type) -> Function:
    return Function(type_, columns=partial(_hashed, name, type_), strict=False, nullable=False)


FUNCTIONS |= {"hash": _hash("murmur3", Type.INT32), "xxhash64": _hash("xxhash64", Type.INT64)}


FUNCTIONS["raised"] = Function(
    Type.BOOLEAN,
    python=lambda message: None,
    failure=lambda operands: str(operands[0]) if operands else "raise_error was called",
    strict=False,
    partial=True,
    reason="the function raises an error",
)
