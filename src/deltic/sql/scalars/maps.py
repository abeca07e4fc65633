"""Values where they are compared: texts by the keys of their collation, maps in the order of their keys.

Maps keep the order in which they were made, and are equal in any order. Aggregates that choose or list values take them
as arrays of their entries, which have an order.
"""

from __future__ import annotations

from deltic.functions import call
from deltic.sql.scalars.comparing import key
from deltic.sql.scalars.functions.rules import attempt
from deltic.sql.scalars.typed import Typed, constant
from deltic.values.types import Column, Kind, Type
from deltic.values.types.names import type_name


def comparable(value: Typed) -> Typed:
    """Return what of a value is compared: keys of a text, maps sorted by key, so that equal maps are the same."""
    value = key(value)
    if value.type.type.is_ordered:
        return value
    type_ = constant(type_name(value.type.type), Type.STRING)
    return Typed(call("ordered_maps", value.expression, type_.expression), value.type)


def as_entries(value: Typed) -> Typed:
    """Return the value with arrays of entries instead of its maps; others as they are."""
    return value if value.type.type.is_ordered else _retyped(value, _entries(value.type.type))


def of_entries(value: Typed, type_: Type) -> Typed:
    """Return a value of a type that `as_entries` has changed, or an array of such values, with its maps."""
    return _retyped(value, type_ if value.type.type is _entries(type_) else Type.array(type_.or_null))


def _retyped(value: Typed, type_: Type) -> Typed:
    return attempt("retyped", value, constant(type_name(type_), Type.STRING))


def _entries(type_: Type) -> Type:
    parts = [_entries(part.type).or_null for part in type_.parts]
    if type_.kind is not Kind.MAP:
        return type_.with_parts(parts) if parts else type_
    pair = (Column(name, part.type, True) for name, part in zip(("key", "value"), parts, strict=True))
    return Type.array(Type.struct(pair).or_null)
