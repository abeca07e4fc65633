"""The order of values, in dumps and in functions: that of Rust, where interned values are ordered by their hashes."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from deltic_ddlog import types as t
from deltic_ddlog.values import LISTS
from deltic_ddlog.xxhash import xxh64

if TYPE_CHECKING:
    from deltic_ddlog.checked import TypeDefinition

SEED = 0x23B691A751D0E108
"""With what DDlog's `hash64` begins."""

Bytes = Callable[[Any], bytes]
_INTERN, _MAP, _VECTOR = "internment::Intern", "ddlog_std::Map", "ddlog_std::Vec"


def _inside(type_: t.DdlogType) -> t.DdlogType:
    """Return the type of what references lead to; interned values are left."""
    while isinstance(type_, t.Named) and type_.name in t.REFERENCES - {_INTERN}:
        type_ = type_.arguments[0]
    return t.STAND_FOR.get(type_.name, type_) if isinstance(type_, t.Named) else type_


def is_interned(type_: t.DdlogType) -> bool:
    """Return whether values of the type are interned, or lead to one that is."""
    inside = _inside(type_)
    return isinstance(inside, t.Named) and inside.name == _INTERN


def _fields(types: Mapping[str, TypeDefinition], type_: t.Named) -> list[tuple[t.DdlogType, ...]]:
    """Return the types of the fields of each constructor."""
    return [types[type_.name].at(type_, fields) for _, fields in types[type_.name].constructors]


def types_in(
    types: Mapping[str, TypeDefinition], type_: t.DdlogType, look: Callable[[t.DdlogType], t.DdlogType]
) -> Iterator[t.DdlogType]:
    """Yield a type and those of the parts of its values, each once and as `look` gives it; nothing of functions."""
    pending, seen = [type_], set[t.DdlogType]()
    while pending:
        type_ = look(pending.pop())
        if type_ in seen:
            continue
        seen.add(type_)
        yield type_
        if isinstance(type_, t.Tuple | t.Named):
            pending += t.parts(type_)
        if isinstance(type_, t.Named):
            pending += [field for fields in _fields(types, type_) for field in fields]


class Hashes:
    """The bytes that Rust's `Hash` feeds into a hash, for values."""

    def __init__(self, types: Mapping[str, TypeDefinition]) -> None:
        self._types, self._made = types, dict[t.DdlogType, Bytes]()

    def of(self, type_: t.DdlogType) -> Bytes:
        """Return the function from a value of the type to its bytes."""
        type_ = _inside(type_)
        if type_ not in self._made:
            # A type may contain itself.
            self._made[type_] = lambda value: self._made[type_](value)
            self._made[type_] = self._make(type_)
        return self._made[type_]

    def _make(self, type_: t.DdlogType) -> Bytes:
        match type_:
            case t.Bool():
                return lambda value: bytes([value])
            case t.String():
                return _string_bytes
            case t.Bit(width) | t.Signed(width) if width <= 128:
                size, signed = max(1, 1 << (width - 1).bit_length()) + 7 >> 3, isinstance(type_, t.Signed)
                return lambda value: int(value).to_bytes(size, "little", signed=signed)
            case t.Float() | t.Double():
                return _float_bytes(isinstance(type_, t.Float))
            case t.Tuple(items):
                return _joined(list(map(self.of, items)))
            case t.Named():
                return self._named(type_)
        return _signed_digits if isinstance(type_, t.BigInt | t.Signed) else _digits

    def _named(self, type_: t.Named) -> Bytes:
        if type_.name == _INTERN:
            said = self.of(type_.arguments[0])
            return lambda value: xxh64(said(value), SEED).to_bytes(8, "little")
        if type_.name in LISTS or type_.name == _MAP:
            element = t.Tuple(type_.arguments) if type_.name == _MAP else type_.arguments[0]
            part, key = self.of(element), TypeOrder(self._types).key(element) if type_.name != _VECTOR else None
            return lambda value: (
                len(value).to_bytes(8, "little") + b"".join(map(part, value if key is None else sorted(value, key=key)))
            )
        made = _fields(self._types, type_)
        parts = [_joined(list(map(self.of, fields))) for fields in made]
        if len(made) == 1:
            return lambda value: parts[0](value.fields)
        return lambda value: (
            value.constructor.place.to_bytes(8, "little") + parts[value.constructor.place](value.fields)
        )


def _string_bytes(value: str) -> bytes:
    return value.encode() + b"\xff"


def _digits(value: int) -> bytes:
    """Return a big number as `num` has it: how many digits of 64 bits it has, and these."""
    count = value.bit_length() + 63 >> 6
    return count.to_bytes(8, "little") + value.to_bytes(8 * count, "little")


def _signed_digits(value: int) -> bytes:
    """Return the same after its sign, which is 0 for minus and 2 for plus; of zero the sign, 1, alone."""
    sign = 1 + (value > 0) - (value < 0)
    return sign.to_bytes(8, "little") + (_digits(abs(value)) if value else b"")


def _joined(parts: list[Bytes]) -> Bytes:
    return lambda value: b"".join(part(each) for part, each in zip(parts, value, strict=True))


def _float_bytes(is_single: bool) -> Bytes:
    """Return a float as `ordered_float` takes it apart: mantissa, exponent and sign in the places of a double."""
    bits, bias, layout = (23, 150, "<fI") if is_single else (52, 1075, "<dQ")

    def said(value: float) -> bytes:
        if math.isnan(value) or value == 0:
            return (0x7FF8000000000000 if value else 0).to_bytes(8, "little")
        raw = struct.unpack(layout[0] + layout[2], struct.pack(layout[:2], value))[0]
        exponent, mantissa = raw >> bits & ((1 << (8 if is_single else 11)) - 1), raw & ((1 << bits) - 1)
        mantissa = mantissa << 1 if exponent == 0 else mantissa | 1 << bits
        placed = (exponent - bias & 0xFFFF) << 52 & 0x7FF0000000000000
        result: bytes = (mantissa & 0xFFFFFFFFFFFFF | placed | (value > 0) << 63).to_bytes(8, "little")
        return result

    return said


class TypeOrder:
    """The order of values of a program's types; `functions` gives the texts that order functions."""

    def __init__(self, types: Mapping[str, TypeDefinition], functions: Callable[[Any], str] | None = None) -> None:
        self._types, self._hashes = types, Hashes(types)
        self._made: dict[t.DdlogType, Callable[[Any], Any]] = {}
        self._functions = functions or _by_name

    def has_own(self, type_: t.DdlogType) -> bool:
        """Return whether values of the type have interned values or functions, which Python orders otherwise."""
        return any(
            isinstance(each, t.CallableType) or (isinstance(each, t.Named) and each.name == _INTERN)
            for each in types_in(self._types, type_, _inside)
        )

    def key(self, type_: t.DdlogType) -> Callable[[Any], Any]:
        """Return the sort key function for values of the type."""
        type_ = _inside(type_)
        if type_ not in self._made:
            self._made[type_] = lambda value: self._made[type_](value)
            self._made[type_] = self._make(type_) if self.has_own(type_) else lambda value: value
        return self._made[type_]

    def _make(self, type_: t.DdlogType) -> Callable[[Any], Any]:
        if isinstance(type_, t.Tuple):
            return _each(list(map(self.key, type_.items)))
        if isinstance(type_, t.CallableType):
            return self._functions
        assert isinstance(type_, t.Named)
        if type_.name == _INTERN:
            said = self._hashes.of(type_.arguments[0])
            return lru_cache(maxsize=1 << 14)(lambda value: xxh64(said(value), SEED))
        if type_.name == _MAP:
            pair = self.key(t.Tuple(type_.arguments))
            return lambda value: sorted(map(pair, value))
        if type_.name in LISTS:
            element, is_vector = self.key(type_.arguments[0]), type_.name == _VECTOR
            return lambda value: list(map(element, value)) if is_vector else sorted(map(element, value))
        if not self._types[type_.name].constructors:
            return lambda value: value
        parts = [_each(list(map(self.key, fields))) for fields in _fields(self._types, type_)]
        return lambda value: (value.constructor.place, parts[value.constructor.place](value.fields))


def _by_name(function: Any) -> str:
    """Closures have the names of their codes."""
    return str(function.__name__)


def _each(parts: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    return lambda value: tuple(part(each) for part, each in zip(parts, value, strict=True))
