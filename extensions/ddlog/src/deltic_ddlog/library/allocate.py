"""The functions of `allocate`. Where no number is left, what remains has none."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import chain

from deltic_ddlog.library.options import holds
from deltic_ddlog.natives import native
from deltic_ddlog.values import NONE, MapValue, Set, Vec, some


def free(taken: Container[int], greatest: int, low: int, high: int) -> Iterator[int]:
    """Return the numbers from `low` to `high` that are not taken: those after the greatest one first."""
    start = greatest + 1 if low <= greatest < high else low
    return (number for number in chain(range(start, high + 1), range(low, start)) if number not in taken)


@native("allocate::allocate")
def allocate(allocated: Set, items: Vec, low: int, high: int) -> Vec:
    """A number for each item, as long as there are some."""
    return Vec(zip(items, free(frozenset(allocated), allocated[-1] if allocated else high, low, high), strict=False))


@native("allocate::allocate_opt")
def allocate_opt(allocated: Set, items: Vec, low: int, high: int) -> Vec:
    """A number for each item, or `None`."""
    numbers = free(frozenset(allocated), allocated[-1] if allocated else high, low, high)
    result = [(item, next(numbers, None)) for item in items]
    return Vec((item, NONE if number is None else some(number)) for item, number in result)


@native("allocate::allocate_with_hint")
def allocate_with_hint(allocated: Set, items: Vec, low: int, high: int) -> Vec:
    """A number for each item: the first free one from its hint on, or from the last number on."""
    taken, last, result = set(allocated), allocated[-1] if allocated else high, list[tuple[object, int]]()
    for item, hint in items:
        number = next(free(taken, hint[1] - 1 if holds(hint) else last, low, high), None)
        if number is None:
            break
        result.append((item, number))
        taken.add(number)
        last = number
    return Vec(result)


@native("allocate::adjust_allocation")
def adjust_allocation(allocated: MapValue, items: Vec, low: int, high: int) -> Vec:
    """For each item the number that it has, or a free one."""
    taken = {number for _, number in allocated}
    numbers = free(taken, max(taken, default=high), low, high)
    result = [(item, allocated.get(item) if item in allocated else next(numbers, None)) for item in items]
    return Vec(pair for pair in result if pair[1] is not None)
