"""Functions of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.natives import Instance, native, natives
from deltic_ddlog.order import SEED, Hashes
from deltic_ddlog.runtime import single
from deltic_ddlog.values import Vec
from deltic_ddlog.xxhash import xxh32, xxh64

_SECOND_SEED = 0x20B09801DCE5FF84
"""With what the other half of `hash128` begins."""


def wrapped(value: Any, type_: t.DdlogType) -> Any:
    """Return a number as one of a type: integers modulo 2^width, numbers of floating point of its precision."""
    match type_:
        case t.Bit(width):
            return value & ((1 << width) - 1)
        case t.Signed(width):
            half = 1 << width - 1
            return ((value + half) & ((1 << width) - 1)) - half
        case t.Float():
            return single(value)
    return value


@native("ddlog_std::pow32", typed=True)
def pow32(instance: Instance) -> Callable[[int, int], int]:
    """A power, modulo 2^width."""
    type_ = instance.result
    if isinstance(type_, t.Bit | t.Signed):
        return lambda base, exponent: wrapped(pow(base, exponent, 1 << type_.width), type_)
    return lambda base, exponent: base**exponent


@native("ddlog_std::hex", typed=True)
def hexadecimal(instance: Instance) -> Callable[[int], str]:
    """The digits to base 16, in two's complement."""
    type_ = t.content(instance.parameters[0])
    width = type_.width if isinstance(type_, t.Signed) else None
    return lambda value: f"{value if width is None else value & ((1 << width) - 1):x}"


def _hash(function: Callable[[bytes], int]) -> Callable[[Instance], Callable[[Any], int]]:
    """Return a hash of the bytes that Rust's `Hash` feeds for a value."""

    def hashing(instance: Instance) -> Callable[[Any], int]:
        said = Hashes(instance.types).of(instance.parameters[0])
        return lambda value: function(said(value))

    return hashing


natives(
    "ddlog_std",
    {
        "hash32": _hash(lambda said: xxh32(said, SEED & 0xFFFFFFFF)),
        "hash64": _hash(lambda said: xxh64(said, SEED)),
        "hash128": _hash(lambda said: xxh64(said, SEED) << 64 | xxh64(said, _SECOND_SEED)),
    },
    typed=True,
)
natives(
    "ddlog_std",
    {
        "range_vec": lambda start, stop, step: Vec(range(start, stop, step) if step else ()),
        "ntohl htonl": lambda value: int.from_bytes(value.to_bytes(4, "little"), "big"),
        "ntohs htons": lambda value: int.from_bytes(value.to_bytes(2, "little"), "big"),
    },
)
