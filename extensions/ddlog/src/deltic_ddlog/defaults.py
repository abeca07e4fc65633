"""Default values: those of `unwrap_or_default`, and of fields that JSON omits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.checked import TypeDefinition
from deltic_ddlog.values import MapValue, Set, Struct, Vec

_EMPTY = {
    "ddlog_std::Vec": Vec(),
    "ddlog_std::Set": Set(),
    "ddlog_std::Map": MapValue(),
    "hashset::HashSet": Set(),
    "tinyset::Set64": Set(),
}

# Of what stands for a text, where "" is none.
_FIRST = {
    "time::Time": "00:00:00.000000000",
    "time::Date": "1970-01-01",
    "time::TzDateTime": "1970-01-01T00:00:00+00:00",
}


def default_of(type_: t.DdlogType, types: Mapping[str, TypeDefinition]) -> Any:
    """Return the default of a type: zero, empty, or its first constructor with defaults."""
    if isinstance(type_, t.Named) and type_.name in _FIRST:
        return _FIRST[type_.name]
    type_ = t.content(type_)
    match type_:
        case t.Bool():
            return False
        case t.String():
            return ""
        case t.Float() | t.Double():
            return 0.0
        case t.Tuple(items):
            return tuple(default_of(item, types) for item in items)
        case t.Named(name):
            if name in _EMPTY:
                return _EMPTY[name]
            definition = types[name]
            if not definition.constructors:
                raise TypeError(f"there is no default value of the type {type_}")
            constructor, fields = definition.constructors[0]
            return Struct(constructor, (default_of(field, types) for field in definition.at(type_, fields)))
        case t.CallableType() | t.TypeVariable():
            raise TypeError(f"there is no default value of the type {type_}")
    return 0
