"""Functions of vectors, sets and maps, which dispatch on their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic_ddlog.natives import Instance, natives
from deltic_ddlog.order import TypeOrder
from deltic_ddlog.types import Named, content
from deltic_ddlog.values import NONE, UNIT, Group, MapValue, Set, Struct, Vec, some


def order_of(instance: Instance) -> Callable[[Any], Any]:
    """Return the sort key of the elements of the first argument, a collection."""
    type_ = content(instance.parameters[0])
    assert isinstance(type_, Named)
    return TypeOrder(instance.types).key(type_.arguments[0])


def members(given: Any) -> Any:
    """Return the values of a group, or the elements of another collection."""
    return [value for value, _ in given.values] if isinstance(given, Group) else given


def _nth(items: Any, place: int) -> Struct:
    """`Some` of the element at a position, `None` outside the collection."""
    return some(items[place]) if place < len(items) else NONE


def _get(items: MapValue, key: Any) -> Struct:
    return some(items.get(key)) if key in items else NONE


def _keys(items: MapValue) -> Vec:
    return Vec(key for key, _ in items)


def _values(items: MapValue) -> Vec:
    return Vec(value for _, value in items)


def _unions(sets: Any) -> Set:
    return Set.of(element for each in members(sets) for element in each)


def _sort(instance: Instance) -> Callable[[Vec], Any]:
    order = order_of(instance)
    return lambda vector: (UNIT, Vec(sorted(vector, key=order)))


def _sorted(instance: Instance) -> Callable[[Vec], Vec]:
    order = order_of(instance)
    return lambda vector: Vec(sorted(vector, key=order))


natives("ddlog_std", {"sort vec_sort": _sort, "sort_imm vec_sort_imm": _sorted}, typed=True)
natives(
    "ddlog_std",
    {
        "size vec_len map_size set_size": len,
        "is_empty vec_is_empty map_is_empty set_is_empty": lambda items: not items,
        "vec_contains set_contains": lambda items, value: value in items,
        "vec_nth set_nth group_nth nth": lambda items, place: _nth(members(items), place),
        "insert map_insert set_insert": lambda items, *values: (UNIT, items.insert(*values)),
        "insert_imm map_insert_imm set_insert_imm": lambda items, *values: items.insert(*values),
        # vectors
        "vec_empty vec_with_capacity": lambda *_: Vec(),
        "vec_with_length": lambda length, value: Vec((value,) * length),
        "vec_singleton": lambda value: Vec((value,)),
        "push vec_push": lambda vector, value: (UNIT, vector.push(value)),
        "push_imm vec_push_imm": lambda vector, value: vector.push(value),
        "pop vec_pop": lambda vector: (some(vector[-1]), Vec(vector[:-1])) if vector else (NONE, vector),
        "append vec_append": lambda vector, other: (UNIT, Vec((*vector, *other))),
        "zip vec_zip": lambda left, right: Vec(zip(left, right, strict=False)),
        "unzip vec_unzip group_unzip": lambda pairs: (
            Vec(a for a, _ in members(pairs)),
            Vec(b for _, b in members(pairs)),
        ),
        "vec_reverse": lambda vector: (UNIT, Vec(reversed(vector))),
        "reverse_imm": lambda vector: Vec(reversed(vector)),
        "resize vec_resize": lambda vector, length, value: (
            UNIT,
            Vec((*vector[:length], *(value,) * (length - len(vector)))),
        ),
        "truncate vec_truncate": lambda vector, length: (UNIT, Vec(vector[:length])),
        "swap_nth vec_swap_nth": lambda vector, place, value: (
            (True, vector.with_nth(place, value), vector[place]) if place < len(vector) else (False, vector, value)
        ),
        "update_nth vec_update_nth": lambda vector, place, value: (
            (True, vector.with_nth(place, value)) if place < len(vector) else (False, vector)
        ),
        # maps
        "map_empty": MapValue,
        "map_singleton": lambda key, value: MapValue(((key, value),)),
        "remove map_remove": lambda items, key: (_get(items, key), items.remove(key)),
        "get map_get": _get,
        "contains_key map_contains_key": lambda items, key: key in items,
        "keys map_keys": _keys,
        "values map_values": _values,
        "nth_key map_nth_key": lambda items, place: _nth(_keys(items), place),
        "nth_value map_nth_value": lambda items, place: _nth(_values(items), place),
        # sets
        "set_singleton": lambda value: Set((value,)),
        "set_empty": Set,
        "unions set_unions group_set_unions group_setref_unions setref_unions": _unions,
        "union set_union map_union": lambda *given: given[0].union(given[1]) if len(given) > 1 else _unions(given[0]),
        "intersection set_intersection": lambda left, right: left.intersection(right),
        "difference set_difference": lambda left, right: left.difference(right),
    },
)
