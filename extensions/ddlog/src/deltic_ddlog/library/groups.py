"""Functions of groups. The value of each row counts once, however often it was derived, in the order of the rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from deltic_ddlog.library.collections import members, order_of
from deltic_ddlog.library.numbers import wrapped
from deltic_ddlog.natives import Instance, natives
from deltic_ddlog.order import TypeOrder
from deltic_ddlog.values import Group, MapValue, Set, Struct, Vec


def _extreme(pick: Callable[..., Any]) -> Callable[[Instance], Callable[..., Any]]:
    """Of two values, or of a group."""

    def extreme(instance: Instance) -> Callable[..., Any]:
        order = TypeOrder(instance.types).key(instance.result)
        return lambda *given: pick(members(given[0]) if len(given) == 1 else given, key=order)

    return extreme


def _sum(instance: Instance) -> Callable[[Group], Any]:
    """Return the sum of the values, as a number of their type."""
    return lambda group: wrapped(sum(members(group)), instance.result)


def _elements(given: Any) -> Any:
    """Return the elements of a group, an option, or a collection."""
    return given.fields if isinstance(given, Struct) else members(given)


def _to_vec(instance: Instance) -> Callable[[Any], Vec]:
    order = order_of(instance)
    return lambda given: Vec(sorted(given, key=order) if isinstance(given, Set) else _elements(given))


def _to_setmap(group: Group) -> MapValue:
    """For each first part of the pairs the set of the second ones."""
    result = defaultdict[Any, list[Any]](list)
    for first_part, second in members(group):
        result[first_part].append(second)
    return MapValue.of((each, Set.of(values)) for each, values in result.items())


natives(
    "ddlog_std",
    {
        "min group_min": _extreme(min),
        "max group_max": _extreme(max),
        "group_sum": _sum,
        "to_vec set_to_vec group_to_vec": _to_vec,
    },
    typed=True,
)
natives(
    "ddlog_std",
    {
        "key group_key": lambda group: group.key,
        "count_distinct group_count_distinct": len,
        "first group_first": lambda group: group.values[0][0],
        "to_set vec_to_set group_to_set": lambda given: Set.of(_elements(given)),
        "to_map group_to_map": lambda given: MapValue.of(_elements(given)),
        "to_setmap group_to_setmap": _to_setmap,
    },
)
