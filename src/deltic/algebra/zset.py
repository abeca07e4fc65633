"""Z-sets: finite maps from values to nonzero integer weights [DBSP §6.1].

A set is a Z-set whose weights are all one, a bag one whose weights are positive, and a change of either is a Z-set:
weight +1 inserts, −1 deletes. Z-sets form an abelian group, so changes can be added and undone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=Hashable)
U = TypeVar("U", bound=Hashable)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class ZSet(Generic[T]):
    """A finite map from hashable values to nonzero integers; every other value has weight zero.

    Built from a mapping or from (value, weight) pairs, whose weights for equal values add up; `ZSet.of` takes plain
    values, each with weight one. A Z-set never changes after it is built. Iteration yields (value, weight) pairs in
    no particular order; `repr` and `sorted_pairs` are in the order of the values.

    >>> friends = ZSet({"ada": 1, "bob": 2})
    >>> friends + ZSet([("bob", -2), ("cy", 1)])
    ZSet({'ada': 1, 'cy': 1})
    >>> friends.weight("bob"), friends.weight("eve")
    (2, 0)
    >>> ZSet.of("hello").distinct()
    ZSet({'e': 1, 'h': 1, 'l': 1, 'o': 1})
    """

    __slots__ = ("_hash", "_weights")

    _weights: dict[T, int]
    _hash: int | None

    def __init__(self, weights: Mapping[T, int] | Iterable[tuple[T, int]] = ()) -> None:
        if isinstance(weights, Mapping):
            self._weights = {value: weight for value, weight in weights.items() if weight}
        else:
            self._weights = summed(weights)
        self._hash = None

    @classmethod
    def of(cls, values: Iterable[T]) -> ZSet[T]:
        """Return the bag of `values`: each occurrence adds one to its value's weight."""
        return cls((value, 1) for value in values)

    @classmethod
    def _trusted(cls, weights: dict[T, int]) -> ZSet[T]:
        """Return a Z-set that takes ownership of `weights`, which must contain no zero."""
        result = cls.__new__(cls)
        result._weights = weights
        result._hash = None
        return result

    def weight(self, value: T) -> int:
        """Return the weight of `value`, zero when absent."""
        return self._weights.get(value, 0)

    def support(self) -> frozenset[T]:
        """Return the values whose weight is not zero."""
        return frozenset(self._weights)

    def is_set(self) -> bool:
        """Return whether every weight is one."""
        return all(weight == 1 for weight in self._weights.values())

    def is_positive(self) -> bool:
        """Return whether no weight is negative: the Z-set is a bag."""
        return all(weight > 0 for weight in self._weights.values())

    def distinct(self) -> ZSet[T]:
        """Return the set of the values with positive weight [DBSP Def. 6.3]."""
        return ZSet._trusted({value: 1 for value, weight in self._weights.items() if weight > 0})

    def distinct_change(self, change: ZSet[T]) -> ZSet[T]:
        """H: the change of `distinct` when `change` is added; visits only the change [DBSP Prop. 6.12].

        >>> ZSet({"a": 2, "b": 1}).distinct_change(ZSet({"a": -1, "b": -1, "c": 3}))
        ZSet({'b': -1, 'c': 1})
        """
        old = ((value, self.weight(value)) for value in change.support())
        return ZSet((value, (weight + change.weight(value) > 0) - (weight > 0)) for value, weight in old)

    def map(self, function: Callable[[T], U]) -> ZSet[U]:
        """Return the image under `function`; weights of values with the same image add up.

        >>> ZSet({-1: 2, 1: 3, 2: 1}).map(abs)
        ZSet({1: 5, 2: 1})
        """
        return ZSet((function(value), weight) for value, weight in self._weights.items())

    def flat_map(self, function: Callable[[T], ZSet[U] | Iterable[U]]) -> ZSet[U]:
        """Return the sum, over all values, of weight times the Z-set or plain values that `function` yields [DBSP
        §8.1.4].

        >>> ZSet({1: 2, 3: -1}).flat_map(range)
        ZSet({0: 1, 1: -1, 2: -1})
        >>> ZSet({"a": 2}).flat_map(lambda x: ZSet({x: -1, x + x: 3}))
        ZSet({'a': -2, 'aa': 6})
        """
        images = ((function(value), weight) for value, weight in self._weights.items())
        zsets = ((image if isinstance(image, ZSet) else ZSet.of(image), weight) for image, weight in images)
        return ZSet((y, weight * w) for image, weight in zsets for y, w in image)

    def filter(self, predicate: Callable[[T], object]) -> ZSet[T]:
        """Return the part whose values satisfy `predicate`."""
        return ZSet._trusted({value: weight for value, weight in self._weights.items() if predicate(value)})

    def by(self, key: Callable[[T], K]) -> dict[K, ZSet[T]]:
        """Return the values with each key, with their weights [DBSP §8.1.2]. Linear.

        >>> ZSet({"ada": 1, "bob": 2, "dora": 1}).by(len)
        {3: ZSet({'ada': 1, 'bob': 2}), 4: ZSet({'dora': 1})}
        """
        groups: dict[K, dict[T, int]] = {}
        for value, weight in self:
            groups.setdefault(key(value), {})[value] = weight
        return {k: ZSet._trusted(group) for k, group in groups.items()}

    def product(self, other: ZSet[U]) -> ZSet[tuple[T, U]]:
        """Return all pairs of values; weights multiply.

        >>> ZSet({"a": 2}).product(ZSet({1: 1, 2: -1}))
        ZSet({('a', 1): 2, ('a', 2): -2})
        """
        return ZSet._trusted({(x, y): v * w for x, v in self._weights.items() for y, w in other._weights.items()})

    def join(
        self, other: ZSet[U], key: Callable[[T], K], other_key: Callable[[U], K], combine: Callable[[T, U], V]
    ) -> ZSet[V]:
        """`combine` of all pairs of values whose keys are equal; weights multiply. Bilinear in both Z-sets.

        >>> edges = ZSet.of([(1, 2), (2, 3)])
        >>> edges.join(edges, lambda e: e[1], lambda e: e[0], lambda e, f: (e[0], f[1]))
        ZSet({(1, 3): 1})
        """
        index: dict[K, list[tuple[U, int]]] = {}
        for y, w in other._weights.items():
            index.setdefault(other_key(y), []).append((y, w))
        return ZSet((combine(x, y), v * w) for x, v in self._weights.items() for y, w in index.get(key(x), ()))

    def antijoin(self, other: ZSet[U], key: Callable[[T], K], other_key: Callable[[U], K]) -> ZSet[T]:
        """Return the part whose values have a key that no value of `other` has: a − a ⋈ distinct(π(b)) [DBSP §6.5.2].

        Linear in this Z-set, and in `other` up to distinct: for a change Δa and a change Δb of the set of keys it
        changes by Δa ▷ b′ − a ⋈ Δb.

        >>> ZSet({"ada": 2, "bob": 1}).antijoin(ZSet.of("bcd"), lambda name: name[0], lambda letter: letter)
        ZSet({'ada': 2})
        """
        keys = other.map(other_key).distinct()
        return self.filter(lambda value: key(value) not in keys)

    def sorted_pairs(self) -> list[tuple[T, int]]:
        """Return the (value, weight) pairs in the order of the values; by their `repr` where values do not compare."""
        pairs: list[tuple[Any, int]] = list(self._weights.items())
        try:
            return sorted(pairs, key=lambda pair: pair[0])
        except TypeError:
            return sorted(pairs, key=lambda pair: repr(pair[0]))

    def __add__(self, other: ZSet[T]) -> ZSet[T]:
        return self._plus(other, 1)

    def __sub__(self, other: ZSet[T]) -> ZSet[T]:
        return self._plus(other, -1)

    def _plus(self, other: ZSet[T], factor: int) -> ZSet[T]:
        """self + factor · other, at the cost of copying self and visiting other."""
        sums = dict(self._weights)
        for value, weight in other._weights.items():
            new = sums.get(value, 0) + factor * weight
            if new:
                sums[value] = new
            else:
                del sums[value]
        return ZSet._trusted(sums)

    def __neg__(self) -> ZSet[T]:
        return ZSet._trusted({value: -weight for value, weight in self._weights.items()})

    def __mul__(self, factor: int) -> ZSet[T]:
        if factor == 0:
            return ZSet()
        return ZSet._trusted({value: factor * weight for value, weight in self._weights.items()})

    __rmul__ = __mul__

    def __iter__(self) -> Iterator[tuple[T, int]]:
        return iter(self._weights.items())

    def __len__(self) -> int:
        return len(self._weights)

    def __contains__(self, value: object) -> bool:
        return value in self._weights

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZSet) and self._weights == other._weights

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._weights.items()))
        return self._hash

    def __repr__(self) -> str:
        return "ZSet({" + ", ".join(f"{value!r}: {weight}" for value, weight in self.sorted_pairs()) + "})"


def summed(pairs: Iterable[tuple[T, int]]) -> dict[T, int]:
    """Return the nonzero sums of the weights of equal values."""
    sums: dict[T, int] = {}
    for value, weight in pairs:
        sums[value] = sums.get(value, 0) + weight
    return {value: weight for value, weight in sums.items() if weight}
