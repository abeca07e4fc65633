"""Sets of natural numbers that are periodic from some number on, and chains of them that have no greatest member.

They are a Boolean algebra in which a function may be monotone without being continuous, as "all numbers, for a set
without an end" is: finite algebras have none of that kind. The supremum of a chain is found as it is defined, number by
number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import lcm

from hypothesis import strategies as st

# Sets differ below this number if they differ at all: they are periodic from 6 on, with periods that divide 6.
WINDOW = 6 + 6
SETTLED = 4


@dataclass(frozen=True)
class Numbers:
    """The numbers n with `first[n]`, and those with `then[n % len(then)]` behind these."""

    first: tuple[bool, ...]
    then: tuple[bool, ...]

    def __contains__(self, n: int) -> bool:
        return self.first[n] if n < len(self.first) else self.then[n % len(self.then)]

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Numbers)
        end = max(len(self.first), len(other.first)) + lcm(len(self.then), len(other.then))
        return all((n in self) == (n in other) for n in range(end))

    def __hash__(self) -> int:
        return hash(tuple(n in self for n in range(WINDOW)))

    @property
    def is_endless(self) -> bool:
        return any(self.then)


class PeriodicSets:
    """All of them, as a Boolean algebra."""

    bottom, top = Numbers((), (False,)), Numbers((), (True,))

    def join(self, left: Numbers, right: Numbers) -> Numbers:
        return _pointwise(lambda n: n in left or n in right, left, right)

    def meet(self, left: Numbers, right: Numbers) -> Numbers:
        return _pointwise(lambda n: n in left and n in right, left, right)

    def without(self, left: Numbers, right: Numbers) -> Numbers:
        return _pointwise(lambda n: n in left and n not in right, left, right)

    def complement(self, value: Numbers) -> Numbers:
        return _pointwise(lambda n: n not in value, value)


def _pointwise(has: Callable[[int], bool], *of: Numbers) -> Numbers:
    start, period = max(len(s.first) for s in of), lcm(*(len(s.then) for s in of))
    then = [has(n) for n in range(start, start + period)]
    return Numbers(tuple(map(has, range(start))), tuple(then[(n - start) % period] for n in range(period)))


def below(count: int) -> Numbers:
    """The numbers less than this one."""
    return Numbers((True,) * count, (False,))


def following(value: Numbers) -> Numbers:
    """The numbers after those of a set."""
    moved = (False, *(n in value for n in range(len(value.first))))
    start, period = len(moved), len(value.then)
    then = [(n - 1) in value for n in range(start, start + period)]
    return Numbers(moved, tuple(then[(n - start) % period] for n in range(period)))


@dataclass(frozen=True)
class Chain:
    """The members `at(0)`, `at(1)`, …: each has what the one before has, or each lacks what the one before lacks."""

    at: Callable[[int], Numbers]

    @property
    def members(self) -> list[Numbers]:
        """So many that no number below WINDOW comes or goes behind them."""
        return [self.at(i) for i in range(WINDOW + SETTLED)]

    @property
    def supremum(self) -> Numbers:
        """What is in some member of an ascending chain."""
        members = self.members
        return _limit(lambda n: any(n in member for member in members))

    @property
    def infimum(self) -> Numbers:
        """What is in all members of a descending chain."""
        members = self.members
        return _limit(lambda n: all(n in member for member in members))


def _limit(has: Callable[[int], bool]) -> Numbers:
    """The set with these numbers, which is one of those that are told apart below WINDOW."""
    return Numbers(tuple(map(has, range(6))), tuple(has(n) for n in range(6, WINDOW)))


def ascending(low: Numbers, high: Numbers) -> Chain:
    """All of one set, and more and more of another."""
    algebra = PeriodicSets()
    return Chain(lambda i: algebra.join(low, algebra.meet(high, below(i))))


bits = st.lists(st.booleans(), max_size=3).map(tuple)
numbers = st.builds(Numbers, bits, st.sampled_from([1, 2, 3]).flatmap(lambda n: st.tuples(*[st.booleans()] * n)))
chains_of_numbers = st.builds(ascending, numbers, numbers)
