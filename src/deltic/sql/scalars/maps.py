"""Maps where values are compared: they keep the order in which they were made, and are equal in any order."""

from __future__ import annotations

from deltic.functions import call
from deltic.sql.scalars.typed import Typed, constant
from deltic.values.types import Type
from deltic.values.types.names import type_name


def comparable(value: Typed) -> Typed:
    """The value with its maps in the order of their keys, which is the same for equal ones; others as they are."""
    if value.type.type.is_ordered:
        return value
    type_ = constant(type_name(value.type.type), Type.STRING)
    return Typed(call("ordered_maps", value.expression, type_.expression), value.type)
