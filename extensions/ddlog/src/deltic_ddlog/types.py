"""The types of DDlog, with aliases resolved and names in full."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class DdlogType:
    """A type. Two are the same when they are equal."""

    def __str__(self) -> str:
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Bool(DdlogType):
    """`bool`."""


@dataclass(frozen=True)
class String(DdlogType):
    """`string`."""


@dataclass(frozen=True)
class BigInt(DdlogType):
    """`bigint`: integers without bounds."""


@dataclass(frozen=True)
class Float(DdlogType):
    """`float`: numbers of IEEE 754 in 32 bits."""


@dataclass(frozen=True)
class Double(DdlogType):
    """`double`: numbers of IEEE 754 in 64 bits."""


@dataclass(frozen=True)
class Bit(DdlogType):
    """`bit<width>`: unsigned integers, modulo 2 to the power of `width`."""

    width: int

    def __str__(self) -> str:
        return f"bit<{self.width}>"


@dataclass(frozen=True)
class Signed(DdlogType):
    """`signed<width>`: integers in two's complement."""

    width: int

    def __str__(self) -> str:
        return f"signed<{self.width}>"


@dataclass(frozen=True)
class Tuple(DdlogType):
    """A tuple; `()` has no items."""

    items: tuple[DdlogType, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True)
class Named(DdlogType):
    """A type of the program or of a library that has constructors, or is extern: `ddlog_std::Vec<bool>`."""

    name: str
    arguments: tuple[DdlogType, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}<{', '.join(map(str, self.arguments))}>" if self.arguments else self.name


@dataclass(frozen=True)
class FunctionParameter:
    """What a function takes at one place."""

    type: DdlogType
    mutable: bool = False

    def __str__(self) -> str:
        return f"mut {self.type}" if self.mutable else str(self.type)


@dataclass(frozen=True)
class CallableType(DdlogType):
    """`function(parameters): result`."""

    parameters: tuple[FunctionParameter, ...]
    result: DdlogType

    def __str__(self) -> str:
        return f"function({', '.join(map(str, self.parameters))}): {self.result}"


@dataclass(frozen=True)
class TypeVariable(DdlogType):
    """`'A` of a generic type or function."""

    name: str

    def __str__(self) -> str:
        return f"'{self.name}"


@dataclass(frozen=True)
class Broken(DdlogType):
    """The placeholder of a reported type, which unifies with any."""

    def __str__(self) -> str:
        return "?"


BROKEN = Broken()
UNIT = Tuple(())
BOOL = Bool()
STRING = String()

# What stands for its content: values are those of the argument, and `&` sees through it.
REFERENCES = frozenset({"ddlog_std::Ref", "internment::Intern", "intern::IObj"})

STAND_FOR: Mapping[str, DdlogType] = {
    "net::ipv4::Ipv4Addr": Bit(32),
    "net::ipv6::Ipv6Addr": Bit(128),
    "uuid::Uuid": Bit(128),
    "url::Url": STRING,
    "time::Time": STRING,
    "time::Date": STRING,
    "time::TzDateTime": STRING,
}
"""Extern types of the libraries whose values are those of other types, in columns, records and order too."""


def with_parts(type_: DdlogType, change: Callable[[DdlogType], DdlogType]) -> DdlogType:
    """Return the type with `change` applied to each type that is immediately in it."""
    match type_:
        case Tuple(items):
            return Tuple(tuple(map(change, items)))
        case Named(name, arguments):
            return Named(name, tuple(map(change, arguments)))
        case CallableType(parameters, result):
            return CallableType(tuple(FunctionParameter(change(p.type), p.mutable) for p in parameters), change(result))
        case _:
            return type_


def parts(type_: DdlogType) -> tuple[DdlogType, ...]:
    """Return the types that are immediately in a type, from left to right."""
    match type_:
        case Tuple(inside) | Named(_, inside):
            return inside
        case CallableType(parameters, result):
            return (*(parameter.type for parameter in parameters), result)
        case _:
            return ()


def side_by_side(one: DdlogType, other: DdlogType) -> list[tuple[DdlogType, DdlogType]] | None:
    """Return the pairs of types at the same places in two types; None where the types differ at their outside."""
    ours, theirs = parts(one), parts(other)
    is_alike = type(one) is type(other) and len(ours) == len(theirs)
    if isinstance(one, Named) and isinstance(other, Named):
        is_alike = is_alike and one.name == other.name
    elif not isinstance(one, Tuple | CallableType):
        is_alike = one == other
    return list(zip(ours, theirs, strict=True)) if is_alike else None


def bounds(type_: DdlogType) -> tuple[float, float]:
    """Return the least and the greatest number of a type of integers, infinite where there is none."""
    match type_:
        case Bit(width):
            return 0, (1 << width) - 1
        case Signed(width):
            return -(1 << width - 1), (1 << width - 1) - 1
        case _:
            return -math.inf, math.inf


def substitute(type_: DdlogType, given: Mapping[str, DdlogType]) -> DdlogType:
    """Return the type with types for its variables."""
    if isinstance(type_, TypeVariable):
        return given.get(type_.name, type_)
    return with_parts(type_, lambda part: substitute(part, given))


def content(type_: DdlogType) -> DdlogType:
    """Return the type that references of this type lead to in the end, or it stands for; other types themselves."""
    while isinstance(type_, Named) and type_.name in REFERENCES:
        type_ = type_.arguments[0]
    return STAND_FOR.get(type_.name, type_) if isinstance(type_, Named) else type_


_WORD = re.compile(r"[\w:]+|[<>(),]")


@cache
def of_text(text: str) -> DdlogType:
    """Return the type that a text says which `str` gave of a type without functions and variables."""
    return _of_words(deque(_WORD.findall(text)))


def _of_words(words: deque[str]) -> DdlogType:
    word = words.popleft()
    if word == "(":
        return Tuple(tuple(_listed(words, ")")))
    if word in _PLAIN:
        return _PLAIN[word]
    if word in ("bit", "signed"):
        _, width, _ = words.popleft(), int(words.popleft()), words.popleft()
        return Bit(width) if word == "bit" else Signed(width)
    is_generic = bool(words) and words[0] == "<"
    return Named(word, tuple(_listed(words, ">")) if is_generic and words.popleft() else ())


def _listed(words: deque[str], end: str) -> Iterator[DdlogType]:
    while words[0] != end:
        yield _of_words(words)
        if words[0] == ",":
            words.popleft()
    words.popleft()


_PLAIN: Mapping[str, DdlogType] = {str(each): each for each in (BOOL, STRING, BigInt(), Float(), Double())}
