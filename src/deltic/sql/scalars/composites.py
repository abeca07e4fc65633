"""Arrays, maps and structs of whose parts something else is made, in the places where these are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import Mapped, bound, higher_order
from deltic.functions import call
from deltic.sql.collations import part, within
from deltic.sql.scalars.typed import Typed, constant, folded, of_node
from deltic.values.types import Kind, Type

Change = Callable[[Typed], Typed]


def called(name: str, *operands: Typed | str) -> Typed:
    """Return a call of a function of the table; its operands are values, or texts."""
    own = [constant(one, Type.STRING) if isinstance(one, str) else one for one in operands]
    return folded(of_node(call(name, *(one.expression for one in own)), *own))


def rebuilt(value: Typed, change: Change) -> Typed:
    """Return a composite value whose parts are changed, without modifiers; NULL where it is."""
    return _OF_PARTS[value.type.type.kind](value, change)


def _of_array(value: Typed, change: Change) -> Typed:
    type_ = value.type.type.element
    element = change(Typed(bound("x", type_.type), type_, modifier=part(value.modifier)))
    return of_node(higher_order(Mapped, ["x"], [value.expression], element.expression), value, element)


def _of_struct(value: Typed, change: Change) -> Typed:
    made: list[Typed | str] = []
    for place, field in enumerate(value.type.type.fields):
        own = called("field", replace(value, modifier=None), field.name)
        made += [field.name, change(replace(own, modifier=part(value.modifier, place)))]
    struct = called("named_struct", *made)
    if not value.type.nullable:
        return struct
    is_null = exp.Is(this=value.expression.copy(), expression=exp.Null())
    node = exp.Case(ifs=[exp.If(this=exp.Not(this=is_null), true=struct.expression)])
    return Typed(node, struct.type.type.or_null)


def _of_map(value: Typed, change: Change) -> Typed:
    names = enumerate(("map_keys", "map_values"))
    arrays = (replace(called(n, value), modifier=within(part(value.modifier, i))) for i, n in names)
    return called("map_from_arrays", *(_of_array(array, change) for array in arrays))


_OF_PARTS = {Kind.ARRAY: _of_array, Kind.STRUCT: _of_struct, Kind.MAP: _of_map}
