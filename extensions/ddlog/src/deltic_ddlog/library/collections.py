"""Functions of vectors, sets and maps, which tell by their arguments what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from deltic_ddlog.natives import Instance, native
from deltic_ddlog.order import TypeOrder
from deltic_ddlog.types import Named, content
from deltic_ddlog.values import NONE, UNIT, Group, Map, Set, Struct, Vec, some


def shared(*names: str, typed: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function for several functions of `ddlog_std`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            native(f"ddlog_std::{name}", typed=typed)(function)
        return function

    return register


def order_of(instance: Instance) -> Callable[[Any], Any]:
    """By what the elements of the first argument, a collection, are ordered."""
    type_ = content(instance.parameters[0])
    assert isinstance(type_, Named)
    return TypeOrder(instance.types).key(type_.arguments[0])


def nth_of(items: Any, place: int) -> Struct:
    """`Some` of what stands at a place, `None` where there is nothing."""
    return some(items[place]) if place < len(items) else NONE


@shared("vec_empty", "vec_with_capacity")
def vec_empty(*_: Any) -> Vec:
    """A vector of nothing."""
    return Vec()


@shared("vec_with_length")
def vec_with_length(length: int, value: Any) -> Vec:
    """A vector of one value so many times."""
    return Vec((value,) * length)


@shared("vec_singleton")
def vec_singleton(value: Any) -> Vec:
    """A vector of one value."""
    return Vec((value,))


@shared("size", "vec_len", "map_size", "set_size")
def size(items: Any) -> int:
    """How many there are."""
    return len(items)


@shared("is_empty", "vec_is_empty", "map_is_empty", "set_is_empty")
def is_empty(items: Any) -> bool:
    """Whether there is nothing."""
    return not items


@shared("push", "vec_push")
def push(vector: Vec, value: Any) -> Any:
    """Add a value at the end."""
    return UNIT, vector.push(value)


@shared("push_imm", "vec_push_imm")
def push_imm(vector: Vec, value: Any) -> Vec:
    """The vector with a value at its end."""
    return vector.push(value)


@shared("pop", "vec_pop")
def pop(vector: Vec) -> Any:
    """Take the last value off."""
    return (some(vector[-1]), Vec(vector[:-1])) if vector else (NONE, vector)


@shared("append", "vec_append")
def append(vector: Vec, other: Vec) -> Any:
    """Add the values of another vector at the end."""
    return UNIT, Vec((*vector, *other))


@shared("vec_contains", "set_contains")
def contains(items: Any, value: Any) -> bool:
    """Whether a value is in it."""
    return value in items


@shared("vec_nth", "set_nth", "group_nth", "nth")
def nth(items: Any, place: int) -> Struct:
    """What stands at a place."""
    return nth_of([value for value, _ in items.values] if isinstance(items, Group) else items, place)


@shared("sort", "vec_sort", typed=True)
def sort(instance: Instance) -> Callable[[Vec], Any]:
    """Sort a vector."""
    order = order_of(instance)
    return lambda vector: (UNIT, Vec(sorted(vector, key=order)))


@shared("sort_imm", "vec_sort_imm", typed=True)
def sort_imm(instance: Instance) -> Callable[[Vec], Vec]:
    """The sorted vector."""
    order = order_of(instance)
    return lambda vector: Vec(sorted(vector, key=order))


@shared("zip", "vec_zip")
def zipped(left: Vec, right: Vec) -> Vec:
    """Pairs of what stands at the same place."""
    return Vec(zip(left, right, strict=False))


@shared("unzip", "vec_unzip")
def unzipped(vector: Vec) -> Any:
    """The first and the second parts of pairs."""
    return Vec(first for first, _ in vector), Vec(second for _, second in vector)


@shared("vec_reverse")
def vec_reverse(vector: Vec) -> Any:
    """Turn a vector round."""
    return UNIT, Vec(reversed(vector))


@shared("reverse_imm")
def reverse_imm(vector: Vec) -> Vec:
    """The vector turned round."""
    return Vec(reversed(vector))


@shared("resize", "vec_resize")
def resize(vector: Vec, length: int, value: Any) -> Any:
    """Give a vector another length, with a value for what is new."""
    return UNIT, Vec((*vector[:length], *(value,) * (length - len(vector))))


@shared("truncate", "vec_truncate")
def truncate(vector: Vec, length: int) -> Any:
    """Keep the first values alone."""
    return UNIT, Vec(vector[:length])


@shared("swap_nth", "vec_swap_nth")
def swap_nth(vector: Vec, place: int, value: Any) -> Any:
    """Exchange a value with the one at a place, if there is one."""
    return (True, vector.with_nth(place, value), vector[place]) if place < len(vector) else (False, vector, value)


@shared("update_nth", "vec_update_nth")
def update_nth(vector: Vec, place: int, value: Any) -> Any:
    """Have another value at a place, if there is one."""
    return (True, vector.with_nth(place, value)) if place < len(vector) else (False, vector)


@shared("map_empty")
def map_empty() -> Map:
    """A map of nothing."""
    return Map()


@shared("map_singleton")
def map_singleton(key: Any, value: Any) -> Map:
    """A map of one key."""
    return Map(((key, value),))


@shared("insert", "map_insert", "set_insert")
def insert(items: Any, *values: Any) -> Any:
    """Insert an element into a set, or a key with its value into a map."""
    return UNIT, items.insert(*values)


@shared("insert_imm", "map_insert_imm", "set_insert_imm")
def insert_imm(items: Any, *values: Any) -> Any:
    """The set with an element, or the map with a key and its value."""
    return items.insert(*values)


@shared("remove", "map_remove")
def remove(items: Map, key: Any) -> Any:
    """Take a key out of a map."""
    return get(items, key), items.remove(key)


@shared("get", "map_get")
def get(items: Map, key: Any) -> Struct:
    """The value of a key."""
    return some(items.get(key)) if key in items else NONE


@shared("contains_key", "map_contains_key")
def contains_key(items: Map, key: Any) -> bool:
    """Whether a map has a key."""
    return key in items


@shared("keys", "map_keys")
def keys(items: Map) -> Vec:
    """The keys in their order."""
    return Vec(key for key, _ in items)


@shared("values", "map_values")
def values(items: Map) -> Vec:
    """The values in the order of their keys."""
    return Vec(value for _, value in items)


@shared("nth_key", "map_nth_key")
def nth_key(items: Map, place: int) -> Struct:
    """The key at a place."""
    return nth_of(keys(items), place)


@shared("nth_value", "map_nth_value")
def nth_value(items: Map, place: int) -> Struct:
    """The value at a place."""
    return nth_of(values(items), place)


@shared("set_singleton")
def set_singleton(value: Any) -> Set:
    """A set of one element."""
    return Set((value,))


@shared("set_empty")
def set_empty() -> Set:
    """A set of nothing."""
    return Set()


def union_of(sets: Iterable[Set]) -> Set:
    """What is in one of many sets."""
    return Set.of(element for each in sets for element in each)


@shared("unions", "set_unions", "group_set_unions", "group_setref_unions", "setref_unions")
def unions(sets: Any) -> Set:
    """What is in one of the sets of a vector or group."""
    return union_of([each for each, _ in sets.values] if isinstance(sets, Group) else sets)


@shared("union", "set_union", "map_union")
def union(*given: Any) -> Any:
    """What is in one of two sets or maps, or of all sets of a vector or group."""
    return given[0].union(given[1]) if len(given) > 1 else unions(given[0])


@shared("intersection", "set_intersection")
def intersection(left: Set, right: Set) -> Set:
    """What is in both."""
    return left.intersection(right)


@shared("difference", "set_difference")
def difference(left: Set, right: Set) -> Set:
    """What is in the first alone."""
    return left.difference(right)
