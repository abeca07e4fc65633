"""The values of DDlog as Python has them: immutable, hashable, and ordered as DDlog orders them.

Integers of all widths are ints, `bool`, `string`, `float` and `double` are Python's, a tuple is a tuple, and references
and interned values are what they refer to. All else is one of the classes here. Each is a tuple, so that equality,
order and hash are those of tuples: a vector orders by its elements, a set by its sorted elements, a map by its pairs,
a structure by its constructor and then its fields. Values are compared within one type alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

UNIT: tuple[()] = ()
"""The value of the type `()`."""


@total_ordering
@dataclass(frozen=True)
class Constructor:
    """A constructor of a type: its qualified name (`ddlog_std::Some`), the names of its fields, and its place.

    The places count from 0 in the order of declaration, which is the order of values of one type.
    """

    name: str
    fields: tuple[str, ...]
    place: int

    def __lt__(self, other: Constructor) -> bool:
        return self.place < other.place

    def __hash__(self) -> int:
        return hash(self.name)

    def __call__(self, *fields: Any) -> Struct:
        """Return the structure of these fields."""
        return Struct(self, fields)


class Struct(tuple[Any, ...]):
    """A value that a constructor makes. As a tuple it is the constructor, then the fields."""

    __slots__ = ()

    def __new__(cls, constructor: Constructor, fields: Iterable[Any] = ()) -> Struct:
        return tuple.__new__(cls, (constructor, *fields))

    @property
    def constructor(self) -> Constructor:
        """What made it."""
        result: Constructor = self[0]
        return result

    @property
    def fields(self) -> tuple[Any, ...]:
        """The values of the fields, in the order of declaration."""
        return self[1:]

    def field(self, name: str) -> Any:
        """Return the value of a field. Raises ValueError where the constructor has none of the name."""
        return self[1 + self.constructor.fields.index(name)]

    def with_field(self, name: str, value: Any) -> Struct:
        """Return the same structure with another value of one field."""
        place = self.constructor.fields.index(name)
        return Struct(self.constructor, (*self[1 : 1 + place], value, *self[2 + place :]))

    def __repr__(self) -> str:
        message = ", ".join(
            f".{name} = {value!r}" for name, value in zip(self.constructor.fields, self[1:], strict=True)
        )
        return f"{self.constructor.name}{{{message}}}"


class _Items(tuple[Any, ...]):
    """A collection as the tuple of what is in it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"


class Vec(_Items):
    """A vector: a tuple of its elements."""

    __slots__ = ()

    def push(self, element: Any) -> Vec:
        """Return the vector with one more element at the end."""
        return Vec((*self, element))

    def with_nth(self, place: int, element: Any) -> Vec:
        """Return the vector with another element at a place that it has."""
        return Vec((*self[:place], element, *self[place + 1 :]))


class Set(_Items):
    """A set: the tuple of its elements in their order, each once; made by `Set.of`."""

    __slots__ = ()

    @classmethod
    def of(cls, elements: Iterable[Any]) -> Set:
        """Return the set of these elements."""
        return cls(sorted(dict.fromkeys(elements)))

    def __contains__(self, element: object) -> bool:
        place = bisect_left(self, element)
        return place < len(self) and self[place] == element

    def insert(self, element: Any) -> Set:
        """Return the set with an element in it."""
        place = bisect_left(self, element)
        if place < len(self) and self[place] == element:
            return self
        return Set((*self[:place], element, *self[place:]))

    def union(self, other: Set) -> Set:
        """Return the union of both."""
        return Set.of((*self, *other))

    def intersection(self, other: Set) -> Set:
        """Return the intersection of both."""
        result = frozenset(other)
        return Set(element for element in self if element in result)

    def difference(self, other: Set) -> Set:
        """This set without the elements of the other."""
        result = frozenset(other)
        return Set(element for element in self if element not in result)


LISTS: Mapping[str, Callable[[Iterable[Any]], tuple[Any, ...]]] = {
    "ddlog_std::Vec": Vec,
    "ddlog_std::Set": Set.of,
    "hashset::HashSet": Set.of,
    "tinyset::Set64": Set.of,
}
"""The types that are written as lists of their elements, and what makes their values."""
SORTED = LISTS.keys() - {"ddlog_std::Vec"} | {"ddlog_std::Map"}
"""The collections that are in the order of what they hold."""


class MapValue(_Items):
    """A map: the tuple of its pairs of key and value in the order of the keys; made by `MapValue.of`."""

    __slots__ = ()

    @classmethod
    def of(cls, pairs: Iterable[tuple[Any, Any]]) -> MapValue:
        """Return the map of these pairs; of a key that comes again the last value."""
        return cls(sorted(dict(pairs).items(), key=lambda pair: pair[0]))

    def _place(self, key: Any) -> tuple[int, bool]:
        """Return the position of a key, or where it would be, and whether it is present."""
        place = bisect_left(self, key, key=lambda pair: pair[0])
        return place, place < len(self) and self[place][0] == key

    def __contains__(self, key: object) -> bool:
        return self._place(key)[1]

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, `default` where it has none."""
        place, is_there = self._place(key)
        return self[place][1] if is_there else default

    def insert(self, key: Any, value: Any) -> MapValue:
        """Return the map with this value of a key."""
        place, is_there = self._place(key)
        return MapValue((*self[:place], (key, value), *self[place + is_there :]))

    def remove(self, key: Any) -> MapValue:
        """Return the map without a key."""
        place, is_there = self._place(key)
        return MapValue((*self[:place], *self[place + is_there :]))

    def union(self, other: MapValue) -> MapValue:
        """Return the pairs of both; of a key in both the value of the other."""
        return MapValue.of((*self, *other))


OPTION = (Constructor("ddlog_std::None", (), 0), Constructor("ddlog_std::Some", ("x",), 1))
RESULT = (Constructor("ddlog_std::Ok", ("res",), 0), Constructor("ddlog_std::Err", ("err",), 1))
NONE = Struct(OPTION[0])


def some(value: Any) -> Struct:
    """`Some{value}`."""
    return Struct(OPTION[1], (value,))


def ok(value: Any) -> Struct:
    """`Ok{value}`."""
    return Struct(RESULT[0], (value,))


def err(error: Any) -> Struct:
    """`Err{error}`."""
    return Struct(RESULT[1], (error,))


def tried(error: type[Exception], make: Callable[[], Any]) -> Struct:
    """`Ok` of what is made, or `Err` with the reason where that raises such an error."""
    try:
        return ok(make())
    except error as reason:
        return err(str(reason))


@dataclass(frozen=True)
class Group:
    """What `group_by` gives: a key, and a value with its weight for each row of the group, in the order of the rows."""

    key: Any
    values: tuple[tuple[Any, int], ...]

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)
