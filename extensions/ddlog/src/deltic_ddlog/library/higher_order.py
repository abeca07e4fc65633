"""Functions that take functions of the elements of vectors, sets and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

from deltic_ddlog.library.groups import members
from deltic_ddlog.library.numbers import wrapped
from deltic_ddlog.library.options import holds
from deltic_ddlog.natives import Instance, native
from deltic_ddlog.values import NONE, UNIT, Group, Set, Struct, Vec, some

Body = Callable[[Any], Any]


def among(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function for functions of these full names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            native(name)(function)
        return function

    return register


def _elements(given: Any) -> Any:
    return members(given) if isinstance(given, Group) else given


def _like(given: Any, elements: Iterator[Any]) -> Any:
    """A set of elements where a set was given, else a vector."""
    return Set.of(elements) if isinstance(given, Set) else Vec(elements)


@among("group::map", "vec::map", "set::map", "hashset::map")
def mapped(given: Any, body: Body) -> Any:
    """The function of each element."""
    return _like(given, map(body, _elements(given)))


@among("group::flatmap", "vec::flatmap")
def flatmap(given: Any, body: Body) -> Vec:
    """What the function gives for each element, one after the other."""
    return Vec(each for element in _elements(given) for each in body(element))


@among("group::filter", "vec::filter", "set::filter", "hashset::filter")
def filtered(given: Any, body: Body) -> Any:
    """The elements for which the function is true."""
    return _like(given, filter(body, _elements(given)))


@among("group::filter_map", "vec::filter_map", "set::filter_map", "hashset::filter_map")
def filter_map(given: Any, body: Body) -> Any:
    """What the function gives for each element, where it gives something."""
    return _like(given, (found[1] for found in map(body, _elements(given)) if holds(found)))


@among("group::find", "vec::find", "set::find", "hashset::find")
def find(given: Any, body: Body) -> Struct:
    """The first element for which the function is true."""
    return next((some(element) for element in _elements(given) if body(element)), NONE)


@among("group::all", "vec::all", "set::all", "hashset::all")
def holds_for_all(given: Any, body: Body) -> bool:
    """Whether the function is true for all elements."""
    return all(map(body, _elements(given)))


@among("group::any", "vec::any", "set::any", "hashset::any")
def holds_for_any(given: Any, body: Body) -> bool:
    """Whether the function is true for an element."""
    return any(map(body, _elements(given)))


@among("group::count", "vec::count", "set::count")
def count(given: Any, body: Body) -> int:
    """For how many elements the function is true."""
    return sum(map(body, _elements(given)))


@among("group::fold", "vec::fold", "set::fold", "hashset::fold")
def fold(given: Any, body: Callable[[Any, Any], Any], initial: Any) -> Any:
    """The function of what was found before and each element, one after the other."""
    return reduce(body, _elements(given), initial)


@among("group::arg_min")
def arg_min_of_group(group: Group, body: Body) -> Any:
    """The first value for which the function is least."""
    return min(members(group), key=body)


@among("group::arg_max")
def arg_max_of_group(group: Group, body: Body) -> Any:
    """The first value for which the function is greatest."""
    return max(members(group), key=body)


@among("vec::arg_min", "vec::vec_arg_min", "set::arg_min", "set::set_arg_min", "hashset::arg_min")
def arg_min(given: Any, body: Body) -> Struct:
    """The first element for which the function is least."""
    return some(min(given, key=body)) if given else NONE


@among("vec::arg_max", "vec::vec_arg_max", "set::arg_max", "set::set_arg_max", "hashset::arg_max")
def arg_max(given: Any, body: Body) -> Struct:
    """The first element for which the function is greatest."""
    return some(max(given, key=body)) if given else NONE


@among("vec::sort_by", "vec::vec_sort_by")
def sort_by(vector: Vec, body: Body) -> Any:
    """Sort a vector by the function of its elements."""
    return UNIT, Vec(sorted(vector, key=body))


@among("vec::retain")
def retain(vector: Vec, body: Body) -> Any:
    """Keep the elements for which the function is true."""
    return UNIT, Vec(filter(body, vector))


@among("vec::first")
def first(vector: Vec) -> Struct:
    """The first element."""
    return some(vector[0]) if vector else NONE


@among("vec::last")
def last(vector: Vec) -> Struct:
    """The last element."""
    return some(vector[-1]) if vector else NONE


@native("group::sum_of", typed=True)
def sum_of(instance: Instance) -> Callable[[Group, Body], Any]:
    """The sum of the function over the values, as a number of its type."""
    return lambda group, body: wrapped(sum(map(body, members(group))), instance.result)
