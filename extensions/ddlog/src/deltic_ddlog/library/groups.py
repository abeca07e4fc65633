"""Functions of groups. The value of each row counts once, however often it was derived, in the order of the rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from deltic_ddlog.library.collections import order_of, shared
from deltic_ddlog.library.numbers import wrapped
from deltic_ddlog.natives import Instance
from deltic_ddlog.order import TypeOrder
from deltic_ddlog.values import Group, Map, Set, Struct, Vec


def members(group: Group) -> list[Any]:
    """The values of a group."""
    return [value for value, _ in group.values]


@shared("key", "group_key")
def key(group: Group) -> Any:
    """What the group has in common."""
    return group.key


@shared("count_distinct", "group_count_distinct")
def count_distinct(group: Group) -> int:
    """How many rows there are."""
    return len(group)


@shared("first", "group_first")
def first(group: Group) -> Any:
    """The value of the first row."""
    return group.values[0][0]


@shared("min", "group_min", typed=True)
def least_of(instance: Instance) -> Callable[..., Any]:
    """The lesser of two values, or the least of a group."""
    order = TypeOrder(instance.types).key(instance.result)
    return lambda *given: min(members(given[0]) if len(given) == 1 else given, key=order)


@shared("max", "group_max", typed=True)
def greatest_of(instance: Instance) -> Callable[..., Any]:
    """The greater of two values, or the greatest of a group."""
    order = TypeOrder(instance.types).key(instance.result)
    return lambda *given: max(members(given[0]) if len(given) == 1 else given, key=order)


@shared("group_sum", typed=True)
def group_sum(instance: Instance) -> Callable[[Group], Any]:
    """The sum of the values, as a number of their type."""
    return lambda group: wrapped(sum(members(group)), instance.result)


def _elements(given: Any) -> Any:
    """The elements of a group, an option, or a collection."""
    return members(given) if isinstance(given, Group) else given.fields if isinstance(given, Struct) else given


@shared("to_set", "vec_to_set", "group_to_set")
def to_set(given: Any) -> Set:
    """The elements of a group, option or vector as a set."""
    return Set.of(_elements(given))


@shared("to_vec", "set_to_vec", "group_to_vec", typed=True)
def to_vec(instance: Instance) -> Callable[[Any], Vec]:
    """The elements of a group, option or set as a vector."""
    order = order_of(instance)
    return lambda given: Vec(sorted(given, key=order) if isinstance(given, Set) else _elements(given))


@shared("to_map", "group_to_map")
def to_map(given: Any) -> Map:
    """The pairs of a group or vector as a map."""
    return Map.of(_elements(given))


@shared("to_setmap", "group_to_setmap")
def to_setmap(group: Group) -> Map:
    """For each first part of the pairs the set of the second ones."""
    found = defaultdict[Any, list[Any]](list)
    for first_part, second in members(group):
        found[first_part].append(second)
    return Map.of((each, Set.of(values)) for each, values in found.items())


@shared("group_unzip")
def group_unzip(group: Group) -> Any:
    """The first and the second parts of pairs."""
    return Vec(pair[0] for pair in members(group)), Vec(pair[1] for pair in members(group))
