"""Functions of strings, whose lengths and places count bytes of UTF-8."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.natives import Instance, native, natives
from deltic_ddlog.runtime import show_float
from deltic_ddlog.values import NONE, UNIT, Struct, Vec, err, ok, some

BLANKS = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"


def shown(value: Any, type_: t.DdlogType) -> str:
    """Return a value of a built-in type as `${}` has it."""
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


def _from_utf8(buffer: Vec) -> Struct:
    try:
        return ok(bytes(buffer).decode())
    except UnicodeDecodeError as error:
        return err(f"invalid utf-8 sequence of 1 bytes from index {error.start}")


def _encode_utf16(text: str) -> Vec:
    data = text.encode("utf-16-le")
    return Vec(int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2))


def _from_utf16(buffer: Vec) -> Struct:
    try:
        return ok(b"".join(unit.to_bytes(2, "little") for unit in buffer).decode("utf-16-le"))
    except UnicodeDecodeError:
        return err("invalid utf-16: lone surrogate found")


_OF_STRINGS: dict[str, Callable[..., Any]] = {
    "contains": lambda items, value: value in items,
    "join": lambda strings, separator: separator.join(strings),
    "len": lambda items: len(items.encode() if isinstance(items, str) else items),
    "replace": str.replace,
    # around each character where the separator is empty
    "split": lambda text, separator: Vec(text.split(separator) if separator else ["", *text, ""]),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "substr": lambda text, start, end: text.encode()[start : max(start, end)].decode(),
    "to_bytes": lambda text: Vec(text.encode()),
    "trim": lambda text: text.strip(BLANKS),
    "to_lowercase": str.lower,
    "to_uppercase": str.upper,
    "reverse": lambda text: text[::-1],
}
for _name, _function in _OF_STRINGS.items():
    natives("ddlog_std internment", {_name: _function})
    natives("ddlog_std", {f"string_{_name}": _function})
    natives("internment", {f"istring_{_name}": _function})
natives(
    "ddlog_std",
    {
        # a vector is changed
        "reverse": lambda items: items[::-1] if isinstance(items, str) else (UNIT, Vec(reversed(items))),
        "str_to_lower": str.lower,
        "from_utf8": _from_utf8,
        "encode_utf16": _encode_utf16,
        "from_utf16": _from_utf16,
    },
)


def _parsed(text: str, signs: str, low: int, high: int) -> Struct:
    if not re.fullmatch(rf"[{signs}]?[0-9]+", text):
        return NONE
    result = int(text)
    return some(result) if low <= result <= high else NONE


natives(
    "ddlog_std internment",
    {
        "parse_dec_u64": lambda text: _parsed(text, "+", 0, (1 << 64) - 1),
        "parse_dec_i64": lambda text: _parsed(text, "+-", -(1 << 63), (1 << 63) - 1),
    },
)
