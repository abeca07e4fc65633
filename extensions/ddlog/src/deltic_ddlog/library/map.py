"""The functions of `map`, which take functions of values, or of keys and values."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.library.options import holds
from deltic_ddlog.natives import Instance, native
from deltic_ddlog.values import NONE, UNIT, Map, Struct, some

Body = Callable[..., Any]


def _takes(instance: Instance, count: int) -> bool:
    """Whether the function that is given takes so many values."""
    body = instance.parameters[1]
    return isinstance(body, t.CallableType) and len(body.parameters) == count


def _of_pairs(instance: Instance, function: Callable[[Map, Body], Any]) -> Callable[[Map, Body], Any]:
    """The function, with one of keys and values where one of values was given."""
    if _takes(instance, 2):
        return function
    return lambda items, body: function(items, lambda _, value: body(value))


@native("map::map", typed=True)
def mapped(instance: Instance) -> Body:
    """The function of each value."""
    return _of_pairs(instance, lambda items, body: Map((key, body(key, value)) for key, value in items))


@native("map::filter", typed=True)
def filtered(instance: Instance) -> Body:
    """The pairs for which the function is true."""
    return _of_pairs(instance, lambda items, body: Map(pair for pair in items if body(*pair)))


@native("map::retain", typed=True)
def retain(instance: Instance) -> Body:
    """Keep the pairs for which the function is true."""
    return _of_pairs(instance, lambda items, body: (UNIT, Map(pair for pair in items if body(*pair))))


@native("map::filter_map", typed=True)
def filter_map(instance: Instance) -> Body:
    """What the function gives for each value, where it gives something."""

    def found(items: Map, body: Body) -> Map:
        pairs = ((key, body(key, value)) for key, value in items)
        return Map((key, value[1]) for key, value in pairs if holds(value))

    return _of_pairs(instance, found)


@native("map::fold", typed=True)
def fold(instance: Instance) -> Body:
    """The function of what was found before and each value, in the order of the keys."""
    if _takes(instance, 3):
        return lambda items, body, initial: reduce(lambda found, pair: body(found, *pair), items, initial)
    return lambda items, body, initial: reduce(lambda found, pair: body(found, pair[1]), items, initial)


@native("map::map_in_place")
@native("map::map_map_in_place")
def map_in_place(items: Map, body: Body) -> Any:
    """Change each value by the function."""
    return UNIT, Map((key, body(key, value)[1]) for key, value in items)


@native("map::map_keys")
def map_keys(items: Map, body: Body) -> Map:
    """The function of each key; of keys that become one the last value counts."""
    return Map.of((body(key), value) for key, value in items)


@native("map::find")
def find(items: Map, body: Body) -> Struct:
    """The first value for which the function is true."""
    return next((some(value) for _, value in items if body(value)), NONE)


@native("map::any")
def holds_for_any(items: Map, body: Body) -> bool:
    """Whether the function is true for a value."""
    return any(body(value) for _, value in items)
