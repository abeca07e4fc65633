"""The functions of `map`, which take functions of values, or of keys and values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from deltic_ddlog import types as t
from deltic_ddlog.library.options import holds
from deltic_ddlog.natives import Instance, natives
from deltic_ddlog.values import NONE, UNIT, MapValue, some

Body = Callable[..., Any]


def _takes(instance: Instance, count: int) -> bool:
    """Return whether the function that is given takes this many values."""
    body = instance.parameters[1]
    return isinstance(body, t.CallableType) and len(body.parameters) == count


def _of_pairs(function: Callable[[MapValue, Body], Any], instance: Instance) -> Callable[[MapValue, Body], Any]:
    """Return the function of keys and values; one of values alone is wrapped."""
    if _takes(instance, 2):
        return function
    return lambda items, body: function(items, lambda _, value: body(value))


def _filter_map(items: MapValue, body: Body) -> MapValue:
    pairs = ((key, body(key, value)) for key, value in items)
    return MapValue((key, value[1]) for key, value in pairs if holds(value))


def _fold(instance: Instance) -> Body:
    """Return a fold over the values, in the order of the keys."""
    if _takes(instance, 3):
        return lambda items, body, initial: reduce(lambda result, pair: body(result, *pair), items, initial)
    return lambda items, body, initial: reduce(lambda result, pair: body(result, pair[1]), items, initial)


_OF_PAIRS: dict[str, Callable[[MapValue, Body], Any]] = {
    "map": lambda items, body: MapValue((key, body(key, value)) for key, value in items),
    "filter": lambda items, body: MapValue(pair for pair in items if body(*pair)),
    "retain": lambda items, body: (UNIT, MapValue(pair for pair in items if body(*pair))),
    "filter_map": _filter_map,
}
natives("map", {name: partial(_of_pairs, function) for name, function in _OF_PAIRS.items()}, typed=True)
natives("map", {"fold": _fold}, typed=True)
natives(
    "map",
    {
        "map_in_place map_map_in_place": lambda items, body: (
            UNIT,
            MapValue((k, body(k, value)[1]) for k, value in items),
        ),
        "map_keys": lambda items, body: MapValue.of((body(key), value) for key, value in items),
        "find": lambda items, body: next((some(value) for _, value in items if body(value)), NONE),
        "any": lambda items, body: any(body(value) for _, value in items),
    },
)
