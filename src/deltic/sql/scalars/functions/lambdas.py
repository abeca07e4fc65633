"""Rules of functions that take functions: `x -> x + 1` over the elements of arrays and the entries of maps.

`Mapped` is the operation of circuits on each element, and `Fold` the one that combines all elements; the rest are
functions of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from deltic.circuit.expressions import Fold, HigherOrder, Mapped, bound, higher_order
from deltic.sql.collations import part, within
from deltic.sql.scalars.coercion import coerced
from deltic.sql.scalars.functions.rules import RULES, Rule, apply, array_of, attempt, map_of, rule, where_present
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, constant, of_node
from deltic.sql.types import written
from deltic.values.types import Type

TAKERS: set[str] = set()
"""The functions that take functions."""


@dataclass(frozen=True)
class Lambda:
    """A function as it is written: its parameters, and what its body is for elements by their names."""

    names: tuple[str, ...]
    body: Callable[[Mapping[str, Typed]], Typed]

    def over(self, *arrays: Typed) -> Typed:
        """Return the array of its results for the elements at each position."""
        self.takes(len(arrays))
        return self._node(Mapped, arrays, [element_of(array) for array in arrays])

    def folded(self, start: Typed, values: Typed) -> Typed:
        """Return a fold: its result for the previous result, at first `start`, and each element."""
        self.takes(2)
        return self._node(Fold, [start, values], [start, element_of(values)])

    def takes(self, *counts: int) -> None:
        """Mismatch unless it has this many parameters."""
        if len(self.names) not in counts:
            result = " or ".join(map(str, counts))
            raise Mismatch(f"the function has {len(self.names)} parameters, and takes {result} here")

    def of(self, *elements: Typed) -> Typed:
        """Its result for elements of the types of these."""
        pairs = zip(self.names, elements, strict=True)
        return self.body({n: replace(e, expression=bound(n, e.type.type), type=e.type.type.or_null) for n, e in pairs})

    def _node(self, kind: type[HigherOrder], given: Sequence[Typed], elements: Sequence[Typed]) -> Typed:
        made = _as_start(self.of(*elements), elements[0].type.type) if kind is Fold else self.of(*elements)
        if made.is_null:
            raise Mismatch("NULL has no type; cast it to one")
        node = higher_order(kind, self.names, [part.expression for part in given], made.expression)
        return replace(of_node(node, *given, made), modifier=made.modifier if kind is Fold else within(made.modifier))


def element_of(values: Typed) -> Typed:
    """Return the place of an element of an array."""
    element = array_of(values).element
    return Typed(bound("element", element.type), element, modifier=part(values.modifier))


def _as_start(made: Typed, start: Type) -> Typed:
    """Return the step of a fold, converted to the type of its start."""
    if not made.is_null and made.type.type is not start:
        raise Mismatch(
            f"it starts with {written(start)} and continues with {written(made.type.type)}; cast one of them"
        )
    return coerced(made, start)


def taking(*names: str, of: str = "") -> Callable[[Rule], Rule]:
    """Enter a rule whose last arguments are functions."""
    TAKERS.update(names)
    return rule(*names, of=of)


def _function(value: Lambda | Typed) -> Lambda:
    if not isinstance(value, Lambda):
        raise Mismatch("a function is taken here, such as x -> x + 1")
    return value


def _entries(value: Typed) -> tuple[Typed, Typed]:
    """Return the keys and the values of a map."""
    map_of(value)
    return attempt("map_keys", value), attempt("map_values", value)


def _condition(found: Typed) -> Typed:
    """Return the result of a condition for each element."""
    if found.type.type.element.type is not Type.BOOLEAN:
        raise Mismatch("the function is a condition: its result is BOOLEAN")
    return found


def _of_elements(values: Typed, function: Lambda) -> Typed:
    """Return a function's result for each element; it may take the element's position, from 0, too."""
    function.takes(1, 2)
    array_of(values)
    return function.over(*[values, attempt("indices", values)][: len(function.names)])


@taking("transform", of="indices")
def transform(values: Typed, function: Lambda | Typed) -> Typed:
    """The function's result for each element."""
    return _of_elements(values, _function(function))


@taking("filter", of="chosen indices")
def filter_(values: Typed, function: Lambda | Typed) -> Typed:
    """The elements for which the function is true."""
    return attempt("chosen", values, _condition(_of_elements(values, _function(function))))


@taking("exists", of="any_of")
def exists(values: Typed, function: Lambda | Typed) -> Typed:
    """Whether the function is true for an element; NULL if it is for none, and NULL for some."""
    return attempt("any_of", _condition(_function(function).over(values)))


@taking("forall", of="all_of")
def forall(values: Typed, function: Lambda | Typed) -> Typed:
    """Whether the function is true for all elements; NULL if it is false for none, and NULL for some."""
    return attempt("all_of", _condition(_function(function).over(values)))


@taking("array_sort", of="array_sort firsts_of_pairs seconds_of_pairs sorted_by")
def array_sort(values: Typed, function: Lambda | Typed | None = None) -> Typed:
    """The elements in order, NULL last; or in the order of a function that compares two: negative, 0 or positive."""
    array_of(values)
    if function is None:
        return attempt("array_sort", coerced(values, values.type.type))
    pairs = [attempt(name, values) for name in ("firsts_of_pairs", "seconds_of_pairs")]
    signs = _function(function).over(*pairs)
    if signs.type.type.element.type is not Type.INT32:
        raise Mismatch("the function takes two elements and returns INT: -1, 0 or 1")
    return apply("sorted_by", values, signs)


@taking("aggregate", "reduce", of="array get")
def aggregate(values: Typed, start: Typed, merge: Lambda | Typed, finish: Lambda | Typed | None = None) -> Typed:
    """A fold over the elements from a start value; a second function may convert the result."""
    if start.is_null:
        raise Mismatch("NULL has no type; cast it to one")
    result = _function(merge).folded(start, values)
    if finish is None:
        return result
    last = attempt("get", _function(finish).over(attempt("array", result)), constant(0, Type.INT32))
    return where_present(last, values)


@taking("zip_with", of="padded")
def zip_with(first: Typed, second: Typed, function: Lambda | Typed) -> Typed:
    """The function's results for the elements at the same positions of two arrays; the shorter is filled with NULL."""
    array_of(first), array_of(second)
    return _function(function).over(attempt("padded", first, second), attempt("padded", second, first))


@taking("map_filter", of="chosen map_keys map_values")
def map_filter(value: Typed, function: Lambda | Typed) -> Typed:
    """The entries for which the function is true."""
    return attempt("chosen", value, _condition(_function(function).over(*_entries(value))))


@taking("transform_values", of="map_from_arrays map_keys map_values")
def transform_values(value: Typed, function: Lambda | Typed) -> Typed:
    """The keys, with the function's results for each key and value."""
    keys, values = _entries(value)
    return apply("map_from_arrays", keys, _function(function).over(keys, values))


@taking("transform_keys", of="map_from_arrays map_keys map_values")
def transform_keys(value: Typed, function: Lambda | Typed) -> Typed:
    """The values, with new keys: the function's results for each key and value. Keys may not be NULL or repeat."""
    keys, values = _entries(value)
    return apply("map_from_arrays", _function(function).over(keys, values), values)


@taking("map_zip_with", of="array_union map_from_arrays map_keys map_values values_at")
def map_zip_with(first: Typed, second: Typed, function: Lambda | Typed) -> Typed:
    """The keys of two maps, with the function's results for the key and both values; a missing value is NULL."""
    keys = RULES["array_union"](_entries(first)[0], _entries(second)[0])
    key = keys.type.type.element.type
    maps = [coerced(value, Type.map(key, value.type.type.value)) for value in (first, second)]
    values = [attempt("values_at", value, keys) for value in maps]
    return apply("map_from_arrays", keys, _function(function).over(keys, *values))
