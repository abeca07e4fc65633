"""Conversion of single values between the stored int64 and Python: like `codec`, but cheap for one value."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from deltic.engine.storage.codec import decode, encode_scalar
from deltic.engine.storage.interner import Interner
from deltic.values import from_arrow, to_python
from deltic.values.types import Kind, Type

_TOP = 1 << 63
_DOUBLE, _LONG = struct.Struct("<d"), struct.Struct("<q")
_NAN = 0x7FF8 << 48


def reader(type_: Type, interner: Interner) -> Callable[[int], Any]:
    """Return the function from stored values of a type, not NULL, to the values of Python rows."""
    match type_.kind:
        case Kind.BOOLEAN:
            return bool
        case Kind.UINT64:
            return lambda held: held + _TOP
        case Kind.FLOAT64:
            return _float_of
        case Kind.STRING:
            return interner.text.value
        case _ if type_.is_integer:
            return int
        case _:
            return lambda held: from_arrow(decode(np.array([held]), None, type_, interner), type_)[0]


def writer(type_: Type, interner: Interner) -> Callable[[Any], int]:
    """Return the inverse of `reader`. New values of interned types get an id."""
    match type_.kind:
        case Kind.UINT64:
            return lambda value: int(value) - _TOP
        case Kind.FLOAT64:
            return _of_float
        case Kind.STRING:
            return interner.text.number_of
        case _ if type_.is_integer or type_.kind is Kind.BOOLEAN:
            return int
        case _:
            return lambda value: encode_scalar(to_python(value, type_), type_, interner)


def _float_of(held: int) -> float:
    number: float = _DOUBLE.unpack(_LONG.pack(held ^ (held >> 63 & _TOP - 1)))[0]
    return number


def _of_float(value: float) -> int:
    """Convert a float like `codec.order_floats`."""
    bits: int = _NAN if value != value else _LONG.unpack(_DOUBLE.pack(value + 0.0))[0]
    return bits ^ (bits >> 63 & _TOP - 1)
