"""Change actions from monoids and groups: each acts on itself [FIX §2.1.1; CS §2].

Numbers change by addition, words by concatenation, sets by union or intersection, group elements by differences.
The instances are named for what is changed by what.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from deltic.algebra.zset import ZSet
from deltic_theory.change_action import Monoid
from deltic_theory.groups import INTEGERS, Z_SETS, AbelianGroup, IntegersModulo, subtract
from deltic_theory.variables import A

Letter = TypeVar("Letter", bound=Hashable)


@dataclass(frozen=True)
class MonoidAction(Generic[A]):
    """A monoid acting on itself from the right: (A, A, ·).

    >>> MonoidAction(WORDS).plus(("a",), ("b",))
    ('a', 'b')
    """

    monoid: Monoid[A]

    @property
    def empty(self) -> A:
        return self.monoid.empty

    def compose(self, first: A, second: A) -> A:
        return self.monoid.compose(first, second)

    def plus(self, value: A, change: A) -> A:
        return self.monoid.compose(value, change)


@dataclass(frozen=True)
class GroupAction(Generic[A]):
    """An abelian group acting on itself: complete, by the difference, and thin, as differences are unique.

    >>> GroupAction(Z_SETS).minus(ZSet({"b": 1}), ZSet({"a": 1}))
    ZSet({'a': -1, 'b': 1})
    """

    group: AbelianGroup[A]

    @property
    def empty(self) -> A:
        return self.group.zero

    def compose(self, first: A, second: A) -> A:
        return self.group.add(first, second)

    def plus(self, value: A, change: A) -> A:
        return self.group.add(value, change)

    def minus(self, target: A, source: A) -> A:
        return subtract(self.group, target, source)

    def between(self, source: A, target: A) -> A:
        return self.minus(target, source)


@dataclass(frozen=True)
class Naturals:
    """The natural numbers, changed by adding natural numbers: thin and not complete [FIX §2.1.1].

    >>> NATURALS.between(2, 5), NATURALS.between(5, 2)
    (3, None)
    """

    @property
    def empty(self) -> int:
        return 0

    def compose(self, first: int, second: int) -> int:
        return first + second

    def plus(self, value: int, change: int) -> int:
        return value + change

    def between(self, source: int, target: int) -> int | None:
        return target - source if source <= target else None

    def leq(self, left: int, right: int) -> bool:
        return left <= right

    def change_leq(self, left: int, right: int) -> bool:
        return left <= right


@dataclass(frozen=True)
class Ascending(Naturals):
    """ℤ₁: the integers, changed by adding natural numbers. Ascending; every function into it has a sup-derivative.

    Its operations are those of ℕ̂; only the values differ.
    """


@dataclass(frozen=True)
class Descending:
    """ℤ₂: the integers, changed by subtracting natural numbers. Descending [CS §2].

    >>> INTEGERS_DESCENDING.plus(3, 5), INTEGERS_DESCENDING.between(3, 5)
    (-2, None)
    """

    @property
    def empty(self) -> int:
        return 0

    def compose(self, first: int, second: int) -> int:
        return first + second

    def plus(self, value: int, change: int) -> int:
        return value - change

    def between(self, source: int, target: int) -> int | None:
        return source - target if target <= source else None

    def leq(self, left: int, right: int) -> bool:
        return left <= right

    def change_leq(self, left: int, right: int) -> bool:
        return left >= right


@dataclass(frozen=True)
class IntegersByIntegers(GroupAction[int]):
    """ℤ₃: the integers, changed by adding integers; the order of the changes is that of the integers [CS §2].

    >>> INTEGERS_BY_INTEGERS.minus(3, 5)
    -2
    """

    group: AbelianGroup[int] = INTEGERS

    def leq(self, left: int, right: int) -> bool:
        return left <= right

    def change_leq(self, left: int, right: int) -> bool:
        return left <= right


@dataclass(frozen=True)
class Words(Generic[Letter]):
    """Finite words as tuples, changed by appending words: thin and not complete [FIX §2.1.1].

    >>> WORDS.between(("a",), ("a", "b"))
    ('b',)
    """

    @property
    def empty(self) -> tuple[Letter, ...]:
        return ()

    def compose(self, first: tuple[Letter, ...], second: tuple[Letter, ...]) -> tuple[Letter, ...]:
        return first + second

    def plus(self, value: tuple[Letter, ...], change: tuple[Letter, ...]) -> tuple[Letter, ...]:
        return value + change

    def between(self, source: tuple[Letter, ...], target: tuple[Letter, ...]) -> tuple[Letter, ...] | None:
        return target[len(source) :] if target[: len(source)] == source else None


NATURALS = Naturals()
INTEGERS_ASCENDING = Ascending()
INTEGERS_DESCENDING = Descending()
INTEGERS_BY_INTEGERS = IntegersByIntegers()
INTEGERS_MODULO_2 = GroupAction(IntegersModulo(2))
Z_SETS_BY_Z_SETS: GroupAction[ZSet[Any]] = GroupAction(Z_SETS)
WORDS: Words[Any] = Words()
