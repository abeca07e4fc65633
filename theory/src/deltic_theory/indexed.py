"""Indexed Z-sets: Z-sets grouped by a key, for grouping, aggregation and nested relations [DBSP §8.1]."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from deltic.algebra.zset import ZSet
from deltic_theory.groups import Z_SETS, AbelianGroup, FiniteMaps
from deltic_theory.variables import B

T = TypeVar("T", bound=Hashable)
U = TypeVar("U", bound=Hashable)
K = TypeVar("K", bound=Hashable)

_MAPS: FiniteMaps[Any, ZSet[Any]] = FiniteMaps(Z_SETS)


class IndexedZSet(Generic[K, T]):
    """A finite map from keys to nonzero Z-sets, the *groups*; every other key has the group zero: ℤ[A][K].

    It never changes after it is built. Iteration yields keys and groups in no particular order. Grouping is linear, and
    so are `sum` and `join` in each argument; they are their own derivatives. `aggregate` is not: `aggregate_change` is
    its derivative and visits only the groups that change.

    >>> by_length = IndexedZSet.by(ZSet({"ada": 1, "bob": 2, "dora": 1}), len)
    >>> by_length
    IndexedZSet({3: ZSet({'ada': 1, 'bob': 2}), 4: ZSet({'dora': 1})})
    >>> by_length.aggregate(lambda group: max(name for name, _ in group))
    ZSet({'bob': 1, 'dora': 1})
    """

    __slots__ = ("_groups",)

    def __init__(self, groups: Mapping[K, ZSet[T]] | None = None) -> None:
        self._groups: Mapping[K, ZSet[T]] = {k: group for k, group in (groups or {}).items() if group}

    @classmethod
    def by(cls, zset: ZSet[T], key: Callable[[T], K]) -> IndexedZSet[K, T]:
        """G_p: the values with each key, with their weights, as its group [DBSP §8.1.2]. Linear in `zset`."""
        return cls(zset.by(key))

    def group(self, key: K) -> ZSet[T]:
        """Return the group of a key, zero when absent."""
        return self._groups.get(key, ZSet())

    def keys(self) -> frozenset[K]:
        """Return the keys whose group is not zero."""
        return frozenset(self._groups)

    def sum(self) -> ZSet[T]:
        """Return the sum of all groups, which undoes `by`: Σ k(a) = a [DBSP §8.1.1]."""
        return ZSet(pair for group in self._groups.values() for pair in group)

    def join(self, other: IndexedZSet[K, U]) -> IndexedZSet[K, tuple[T, U]]:
        """Return the product of both groups of each key. Bilinear; its sum is the join of the sums.

        >>> a, b = ZSet.of(["ada", "bob"]), ZSet.of([3, 4])
        >>> IndexedZSet.by(a, len).join(IndexedZSet.by(b, lambda n: n)).sum()
        ZSet({('ada', 3): 1, ('bob', 3): 1})
        """
        return IndexedZSet({k: group.product(other.group(k)) for k, group in self._groups.items()})

    def aggregate(self, function: Callable[[ZSet[T]], U]) -> ZSet[U]:
        """Agg_f: the bag of the function's results for the groups that are not zero [DBSP §8.1.3]."""
        return ZSet.of(function(group) for group in self._groups.values())

    def aggregate_change(self, change: IndexedZSet[K, T], function: Callable[[ZSet[T]], U]) -> ZSet[U]:
        """Return the change of `aggregate` when `change` is added; visits only the groups of the change.

        >>> old = IndexedZSet.by(ZSet({(1, "a"): 1, (2, "b"): 1}), lambda row: row[0])
        >>> new = IndexedZSet.by(ZSet({(2, "b"): -1, (1, "c"): 1}), lambda row: row[0])
        >>> old.aggregate_change(new, len)
        ZSet({1: -2, 2: 1})
        """
        before = ((-1, self.group(k)) for k in change._groups)
        after = ((1, self.group(k) + change.group(k)) for k in change._groups)
        return ZSet((function(group), sign) for sign, group in (*before, *after) if group)

    def map_groups(self, function: Callable[[ZSet[T]], B], values: AbelianGroup[B]) -> Mapping[K, B]:
        """Return the function's result for each key, an element of the group `FiniteMaps(values)`; linear if f is.

        The change of a sum or a number of rows for each key is that of the change; unlike in `aggregate`, a result that
        is zero is the same as no group.

        >>> from deltic_theory.groups import INTEGERS
        >>> by_sign = IndexedZSet.by(ZSet({3: 1, 4: 2, -7: 1}), lambda n: n > 0)
        >>> by_sign.map_groups(lambda group: sum(n * weight for n, weight in group), INTEGERS)
        {True: 11, False: -7}
        """
        results = ((k, function(group)) for k, group in self._groups.items())
        return {k: result for k, result in results if result != values.zero}

    def nest(self) -> ZSet[tuple[K, ZSet[T]]]:
        """Return the nested relation: the set of the pairs of a key and its group; `unnest` is its inverse.

        >>> IndexedZSet.by(ZSet.of([1, 2, 3]), lambda n: n % 2).nest()
        ZSet({(0, ZSet({2: 1})): 1, (1, ZSet({1: 1, 3: 1})): 1})
        """
        return ZSet.of(self._groups.items())

    def __iter__(self) -> Iterator[tuple[K, ZSet[T]]]:
        return iter(self._groups.items())

    def __add__(self, other: IndexedZSet[K, T]) -> IndexedZSet[K, T]:
        return IndexedZSet(_MAPS.add(self._groups, other._groups))

    def __neg__(self) -> IndexedZSet[K, T]:
        return IndexedZSet(_MAPS.negate(self._groups))

    def __sub__(self, other: IndexedZSet[K, T]) -> IndexedZSet[K, T]:
        return self + -other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexedZSet) and self._groups == other._groups

    def __hash__(self) -> int:
        return hash(frozenset(self._groups.items()))

    def __repr__(self) -> str:
        pairs = (pair for pair, _ in self.nest().sorted_pairs())
        return "IndexedZSet({" + ", ".join(f"{k!r}: {group!r}" for k, group in pairs) + "})"


def unnest(nested: ZSet[tuple[K, ZSet[T]]]) -> ZSet[T]:
    """Return the sum of the groups, each times its weight. Linear: it is a flatmap [DBSP Prop. 8.1].

    >>> unnest(ZSet({("x", ZSet({1: 1})): 2, ("y", ZSet({1: -1, 2: 1})): 1}))
    ZSet({1: 1, 2: 1})
    """
    return nested.flat_map(lambda pair: pair[1])


@dataclass(frozen=True)
class IndexedZSets:
    """The group of indexed Z-sets, added key by key [DBSP §8.1.1]."""

    @property
    def zero(self) -> IndexedZSet[Any, Any]:
        return IndexedZSet()

    def add(self, left: IndexedZSet[Any, Any], right: IndexedZSet[Any, Any]) -> IndexedZSet[Any, Any]:
        return left + right

    def negate(self, value: IndexedZSet[Any, Any]) -> IndexedZSet[Any, Any]:
        return -value


INDEXED_Z_SETS = IndexedZSets()
