"""Operators on Z-sets that are made of others: those of sets [DBSP Table 1, §6.5.2] and of bags [DBSP §8.4].

Union, intersection and difference are the sets' where their arguments are sets. The bags' are SQL's UNION ALL, which
is `+`, INTERSECT ALL and EXCEPT ALL. Where an operator is (bi)linear its docstring says so: then it is its own
derivative [DBSP Thm 4.4], or has the derivative of a product [DBSP Thm 4.5].
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from deltic.algebra.zset import ZSet

T = TypeVar("T", bound=Hashable)


def multiply(left: ZSet[T], right: ZSet[T]) -> ZSet[T]:
    """Return the product of weights at each value, which makes Z-sets a ring [DBSP §6.1]; of sets, their intersection.

    Bilinear. The ring has no one unless there are finitely many values: a Z-set is zero almost everywhere.

    >>> multiply(ZSet({"a": 2, "b": 3}), ZSet({"b": -1, "c": 1}))
    ZSet({'b': -3})
    """
    return ZSet((value, weight * right.weight(value)) for value, weight in left)


def union(left: ZSet[T], right: ZSet[T]) -> ZSet[T]:
    """distinct(a + b): the union of sets [DBSP §6.4.2].

    >>> union(ZSet.of("ab"), ZSet.of("bc"))
    ZSet({'a': 1, 'b': 1, 'c': 1})
    """
    return (left + right).distinct()


def difference(left: ZSet[T], right: ZSet[T]) -> ZSet[T]:
    """distinct(a − b): the difference of sets [DBSP §6.4.9].

    >>> difference(ZSet.of("ab"), ZSet.of("bc"))
    ZSet({'a': 1})
    """
    return (left - right).distinct()


def positive_part(zset: ZSet[T]) -> ZSet[T]:
    """Return the bag of the values with positive weight, each with its weight; for bags what distinct is for sets.

    >>> positive_part(ZSet({"a": 2, "b": -1}))
    ZSet({'a': 2})
    """
    return ZSet((value, weight) for value, weight in zset if weight > 0)


def bag_difference(left: ZSet[T], right: ZSet[T]) -> ZSet[T]:
    """(a − b)⁺: EXCEPT ALL of bags [DBSP §8.4].

    >>> bag_difference(ZSet({"a": 3, "b": 1}), ZSet({"a": 1, "b": 2}))
    ZSet({'a': 2})
    """
    return positive_part(left - right)


def bag_intersection(left: ZSet[T], right: ZSet[T]) -> ZSet[T]:
    """a − (a − b)⁺: INTERSECT ALL of bags, the least of the weights [DBSP §8.4].

    >>> bag_intersection(ZSet({"a": 3, "b": 1}), ZSet({"a": 1, "b": 2}))
    ZSet({'a': 1, 'b': 1})
    """
    return left - bag_difference(left, right)
