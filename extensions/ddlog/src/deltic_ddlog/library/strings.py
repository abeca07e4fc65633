"""Functions of strings, whose lengths and places count bytes of UTF-8."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.library.collections import contains, shared, size, vec_reverse
from deltic_ddlog.natives import Instance, native
from deltic_ddlog.texts import show_float
from deltic_ddlog.values import NONE, Struct, Vec, err, ok, some

BLANKS = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"


def shown(value: Any, type_: t.DdlogType) -> str:
    """A value of a built-in type as `${}` has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return show_float(value, isinstance(type_, t.Float))
    return str(value)


def _to_string(instance: Instance) -> Callable[[Any], str]:
    type_ = t.content(instance.parameters[0])
    return lambda value: shown(value, type_)


for _name in ("ddlog_std::to_string", "ddlog_std::__builtin_2string", "internment::to_string"):
    native(_name, typed=True)(_to_string)


def of_strings(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function under names of `ddlog_std` and of `internment`, plain ones and others."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            native(f"ddlog_std::string_{name}")(function)
            native(f"internment::istring_{name}")(function)
            native(f"internment::{name}")(function)
        return function

    return register


@shared("contains")
@of_strings("contains")
def has(items: Any, value: Any) -> bool:
    """Whether a string is in another one, or a value in a collection."""
    return value in items if isinstance(items, str) else contains(items, value)


@shared("join")
@of_strings("join")
def join(strings: Vec, separator: str) -> str:
    """Strings with a separator between them."""
    return separator.join(strings)


@shared("len")
@of_strings("len")
def length(items: Any) -> int:
    """How many bytes a string has, or elements a vector."""
    return len(items.encode()) if isinstance(items, str) else size(items)


@shared("replace")
@of_strings("replace")
def replace(text: str, old: str, new: str) -> str:
    """The string with one part in the place of another."""
    return text.replace(old, new)


@shared("split")
@of_strings("split")
def split(text: str, separator: str) -> Vec:
    """What stands between separators; around each character where the separator is empty."""
    return Vec(text.split(separator) if separator else ["", *text, ""])


@shared("starts_with")
@of_strings("starts_with")
def starts_with(text: str, prefix: str) -> bool:
    """Whether it begins with another string."""
    return text.startswith(prefix)


@shared("ends_with")
@of_strings("ends_with")
def ends_with(text: str, suffix: str) -> bool:
    """Whether it ends with another string."""
    return text.endswith(suffix)


@shared("substr")
@of_strings("substr")
def substr(text: str, start: int, end: int) -> str:
    """The bytes from a place to another one, which are characters."""
    return text.encode()[start : max(start, end)].decode()


@shared("to_bytes")
@of_strings("to_bytes")
def to_bytes(text: str) -> Vec:
    """The bytes."""
    return Vec(text.encode())


@shared("trim")
@of_strings("trim")
def trim(text: str) -> str:
    """Without blanks at both ends."""
    return text.strip(BLANKS)


@shared("to_lowercase", "str_to_lower")
@of_strings("to_lowercase")
def to_lowercase(text: str) -> str:
    """In small letters."""
    return text.lower()


@shared("to_uppercase")
@of_strings("to_uppercase")
def to_uppercase(text: str) -> str:
    """In capitals."""
    return text.upper()


@of_strings("reverse")
def reversed_text(text: str) -> str:
    """The characters turned round."""
    return text[::-1]


@shared("reverse")
def reverse(items: Any) -> Any:
    """A string turned round; a vector is changed."""
    return reversed_text(items) if isinstance(items, str) else vec_reverse(items)


@shared("from_utf8")
def from_utf8(buffer: Vec) -> Struct:
    """The string of these bytes."""
    try:
        return ok(bytes(buffer).decode())
    except UnicodeDecodeError as error:
        return err(f"invalid utf-8 sequence of 1 bytes from index {error.start}")


@shared("encode_utf16")
def encode_utf16(text: str) -> Vec:
    """The string as units of UTF-16."""
    data = text.encode("utf-16-le")
    return Vec(int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2))


@shared("from_utf16")
def from_utf16(buffer: Vec) -> Struct:
    """The string of these units of UTF-16."""
    try:
        return ok(b"".join(unit.to_bytes(2, "little") for unit in buffer).decode("utf-16-le"))
    except UnicodeDecodeError:
        return err("invalid utf-16: lone surrogate found")


def _parsed(text: str, signs: str, low: int, high: int) -> Struct:
    if not re.fullmatch(rf"[{signs}]?[0-9]+", text):
        return NONE
    found = int(text)
    return some(found) if low <= found <= high else NONE


def parse_dec_u64(text: str) -> Struct:
    """The number that a string says, if it says one."""
    return _parsed(text, "+", 0, (1 << 64) - 1)


def parse_dec_i64(text: str) -> Struct:
    """The number that a string says, if it says one."""
    return _parsed(text, "+-", -(1 << 63), (1 << 63) - 1)


for _module in ("ddlog_std", "internment"):
    native(f"{_module}::parse_dec_u64")(parse_dec_u64)
    native(f"{_module}::parse_dec_i64")(parse_dec_i64)
