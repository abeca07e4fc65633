"""Functions that take functions of the elements of vectors, sets and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

from deltic_ddlog.library.collections import members
from deltic_ddlog.library.numbers import wrapped
from deltic_ddlog.library.options import holds
from deltic_ddlog.natives import Instance, native, natives, same_natives
from deltic_ddlog.values import NONE, UNIT, Group, Set, Vec, some

Body = Callable[[Any], Any]


def _like(given: Any, elements: Iterator[Any]) -> Any:
    """Return a set of elements where a set was given, else a vector."""
    return Set.of(elements) if isinstance(given, Set) else Vec(elements)


def _filter_map(given: Any, body: Body) -> Any:
    return _like(given, (result[1] for result in map(body, members(given)) if holds(result)))


natives(
    "group vec set hashset",
    {
        "map": lambda given, body: _like(given, map(body, members(given))),
        "filter": lambda given, body: _like(given, filter(body, members(given))),
        "filter_map": _filter_map,
        "find": lambda given, body: next((some(element) for element in members(given) if body(element)), NONE),
        "all": lambda given, body: all(map(body, members(given))),
        "any": lambda given, body: any(map(body, members(given))),
        "fold": lambda given, body, initial: reduce(body, members(given), initial),
    },
)
natives("group vec set", {"count": lambda given, body: sum(map(body, members(given)))})
natives("group vec", {"flatmap": lambda given, body: Vec(each for item in members(given) for each in body(item))})
natives(
    "vec set hashset",
    {
        "arg_min": lambda given, body: some(min(given, key=body)) if given else NONE,
        "arg_max": lambda given, body: some(max(given, key=body)) if given else NONE,
    },
)
for _module in ("vec", "set"):
    same_natives(_module, f"{_module}_arg_min=arg_min {_module}_arg_max=arg_max", of=_module)
natives(
    "group",
    {
        "arg_min": lambda group, body: min(members(group), key=body),
        "arg_max": lambda group, body: max(members(group), key=body),
    },
)
natives(
    "vec",
    {
        "sort_by vec_sort_by": lambda vector, body: (UNIT, Vec(sorted(vector, key=body))),
        "retain": lambda vector, body: (UNIT, Vec(filter(body, vector))),
        "first": lambda vector: some(vector[0]) if vector else NONE,
        "last": lambda vector: some(vector[-1]) if vector else NONE,
    },
)


@native("group::sum_of", typed=True)
def sum_of(instance: Instance) -> Callable[[Group, Body], Any]:
    """The sum of the function over the values, as a number of its type."""
    return lambda group, body: wrapped(sum(map(body, members(group))), instance.result)
