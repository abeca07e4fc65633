"""Functions of arrays, vectors, structs and maps. Inside them NULL equals NULL; elements compare as `in_order` says."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import Any

from sqlglot import exp

from deltic.functions.conversions import lists_of
from deltic.functions.function import FUNCTIONS, MOST_ELEMENTS, Function, by_rows, no_sequence, too_long
from deltic.functions.java_patterns import compiled
from deltic.functions.json import type_of_literal
from deltic.lazy import pa, pc
from deltic.values.order import in_order
from deltic.values.types import Column, Kind, Type
from deltic.values.types.names import type_named

INT, LONG, BOOL = Type.INT32, Type.INT64, Type.BOOLEAN
Values = tuple[Any, ...]


def _key(value: Any) -> Any:
    """Return a sort key of a value, with NULL lowest."""
    return value is not None, in_order(value)


def _distinct(values: Iterable[Any]) -> Values:
    """Distinct values in order of first occurrence."""
    return tuple({_key(value): value for value in reversed([*values])}[key] for key in dict.fromkeys(map(_key, values)))


def _without(values: Values, others: Values) -> Values:
    gone = {*map(_key, others)}
    return tuple(value for value in _distinct(values) if _key(value) not in gone)


def _common(values: Values, others: Values) -> Values:
    wanted = {*map(_key, others)}
    return tuple(value for value in _distinct(values) if _key(value) in wanted)


def _overlap(values: Values, others: Values) -> bool | None:
    """`arrays_overlap`: NULL where only a NULL could be common."""
    if {_key(v) for v in values if v is not None} & {_key(v) for v in others if v is not None}:
        return True
    return None if values and others and None in (*values, *others) else False


def _contains(values: Values, wanted: Any) -> bool | None:
    if any(_key(value) == _key(wanted) for value in values):
        return True
    return None if None in values else False


def _position(values: Values, wanted: Any) -> int:
    return next((i for i, value in enumerate(values, 1) if _key(value) == _key(wanted)), 0)


def _sorted_by(values: Values, signs: Values) -> Values | None:
    """Sort elements by a matrix of signs for pairs of positions; negative where the first one precedes."""
    width = len(values)
    if None in signs[1:] and any(sign is None for i, sign in enumerate(signs) if i % (width + 1)):
        return None

    def sign(first: int, second: int) -> int:
        result: int = signs[first * width + second]
        return result

    places = sorted(range(width), key=cmp_to_key(sign))
    return tuple(values[place] for place in places)


def _extreme(pick: Callable[..., Any]) -> Callable[[Values], Any]:
    return lambda values: pick((v for v in values if v is not None), key=in_order, default=None)


def _slice(values: Values, start: int, length: int) -> Values | None:
    if start == 0 or length < 0:
        return None
    first = start - 1 if start > 0 else len(values) + start
    return values[first : first + length] if 0 <= first < len(values) else ()


def _sequence(start: int, stop: int, step: int) -> Values | None:
    if start == stop:
        return (start,)
    if (stop - start) * step <= 0 or abs(stop - start) >= abs(step) * MOST_ELEMENTS:
        return None
    return tuple(range(start, stop + (1 if step > 0 else -1), step))


def _of_entries_type(node: exp.Expression, types: Sequence[Type]) -> Type:
    key, value = types[0].element.type.fields
    return Type.map(key.type, value.type.or_null)


def _zipped(*arrays: Values) -> Values:
    """Zip arrays, padded with NULL."""
    return tuple(itertools.zip_longest(*arrays))


def _zipped_type(node: exp.Expression, types: Sequence[Type]) -> Type:
    names = (name.this for name in node.expressions[: len(types) // 2])
    pairs = zip(names, types[len(types) // 2 :], strict=True)
    return Type.array(Type.struct(Column(name, type_.element.type, True) for name, type_ in pairs).or_null)


def _inserted(values: Values | None, place: int | None, value: Any) -> Values | None:
    """Insert a value at a position from 1, or backward from -1, padding with NULL."""
    if values is None or not place:
        return None
    if place > 0:
        return (*values[: place - 1], *(None,) * (place - 1 - len(values)), value, *values[place - 1 :])
    end = len(values) + place + 1
    return (*values[:end], value, *values[end:]) if end >= 0 else (value, *(None,) * -end, *values)


def _texts_map(text: str, between: str, within: str) -> Values | None:
    """`str_to_map`: the map of the pairs in a text."""
    patterns = compiled(between), compiled(within)
    if patterns[0] is None or patterns[1] is None:
        return None
    parts = patterns[0].split(text) if between else [*text] or [""]
    pairs = [_halves(part, patterns[1]) for part in parts]
    return _map(tuple(pair[0] for pair in pairs), tuple(pair[1] if len(pair) > 1 else None for pair in pairs))


def _halves(pair: str, within: re.Pattern[str]) -> list[str]:
    """Return what stands before and after a pattern; the empty one parts the first letter from the others, as in
    Java.
    """
    if within.pattern:
        return within.split(pair, maxsplit=1)
    return [part for part in (pair[:1], pair[1:]) if part] or [""]


def _map(keys: Values, values: Values) -> Values | None:
    """Return a map from keys and values; undefined where keys are NULL or repeated."""
    distinct = len({_key(key) for key in keys}) == len(keys) == len(values)
    return tuple(zip(keys, values, strict=True)) if distinct and None not in keys else None


def _joined(values: Values, separator: str, instead: str | None = None) -> str:
    result = (instead if value is None else value for value in values)
    return separator.join(value for value in result if value is not None)


def _value_at(pairs: Values, wanted: Any) -> Any:
    return next((value for key, value in pairs if _key(key) == _key(wanted)), None)


def _any(values: Values) -> bool | None:
    return True if True in values else None if None in values else False


def _all(values: Values) -> bool | None:
    return False if False in values else None if None in values else True


def _element(node: exp.Expression, types: Sequence[Type]) -> Type:
    return types[0].element.type


def _same(node: exp.Expression, types: Sequence[Type]) -> Type:
    return types[0]


def _struct(node: exp.Expression, types: Sequence[Type]) -> Type:
    names = (name.this for name in node.expressions[::2])
    return Type.struct(Column(name, type_, True) for name, type_ in zip(names, types[1::2], strict=True))


def _field(node: exp.Expression, types: Sequence[Type]) -> Type:
    return next(c.type for c in types[0].fields if c.name == node.expressions[1].this)


def _entries(node: exp.Expression, types: Sequence[Type]) -> Type:
    value = types[0].value
    return Type.array(Type.struct((Column("key", types[0].key), Column("value", value.type, value.nullable))).or_null)


def _sized(operands: Sequence[str], types: Sequence[Type]) -> str:
    name = "cardinality" if types[0].kind is Kind.MAP else "len"
    return f"CAST({name}({operands[0]}) AS INTEGER)"


def _lengths(columns: Sequence[Any], count: int) -> Any:
    """Return the lengths of arrays; None for maps."""
    return pc.list_value_length(columns[0]) if pa.types.is_list(columns[0].type) else None


def _elements(columns: Sequence[Any], count: int) -> Any:
    """Return the elements of arrays at places from 0 on, NULL beyond the ends."""
    arrays, places = (c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns)
    if not pa.types.is_list(arrays.type):
        return None
    inside = pc.and_(pc.greater_equal(places, 0), pc.less(places, pc.list_value_length(arrays)))
    starts = arrays.offsets[:count]
    return arrays.values.take(pc.if_else(inside, pc.add_checked(starts, pc.if_else(inside, places, 0)), None))


def _field_sql(operands: Sequence[str], types: Sequence[Type]) -> str:
    return f"struct_extract({operands[0]}, {operands[1]})"


def _set(python: Callable[..., Any], strict: bool = True, partial: bool = False) -> Function:
    """Declare a function from arrays to an array of the first one's type."""
    return Function(_same, python=python, strict=strict, partial=partial)


def _ordered(value: Any, type_: str) -> Any:
    return _with_ordered_maps(value, type_named(type_))


def _with_ordered_maps(value: Any, type_: Type) -> Any:
    if value is None or type_.is_ordered:
        return value
    match type_.kind:
        case Kind.STRUCT:
            return tuple(_with_ordered_maps(v, c.type) for v, c in zip(value, type_.fields, strict=True))
        case Kind.ARRAY:
            return tuple(_with_ordered_maps(v, type_.element.type) for v in value)
    pairs = ((key, _with_ordered_maps(v, type_.value.type)) for key, v in value)
    return tuple(sorted(pairs, key=lambda pair: in_order(pair[0])))


FUNCTIONS |= by_rows(
    "no kernel compares NULL, NaN and nested elements as Spark does",
    {
        "array": Function(
            lambda node, types: Type.array((types[0] if types else BOOL).or_null),
            python=lambda *values: values,
            strict=False,
            nullable=False,
        ),
        "size": Function(INT, _sized, columns=_lengths),
        "get": Function(_element, "CASE WHEN {1} >= 0 THEN {0}[{1} + 1] END", tolerant=True, columns=_elements),
        "at": Function(_element, "{0}[{1}]", tolerant=True),
        "value_at": Function(lambda node, types: types[0].value.type, python=_value_at, tolerant=True),
        "array_contains": Function(BOOL, python=_contains, tolerant=True),
        "array_position": Function(LONG, python=_position),
        "array_distinct": _set(_distinct),
        "array_remove": _set(lambda values, gone: tuple(v for v in values if v is None or _key(v) != _key(gone))),
        "array_append": _set(lambda values, value: None if values is None else (*values, value), strict=False),
        "array_prepend": _set(lambda values, value: None if values is None else (value, *values), strict=False),
        "array_compact": _set(lambda values: tuple(v for v in values if v is not None)),
        "array_concat": _set(lambda *arrays: tuple(v for values in arrays for v in values)),
        "array_union": _set(lambda a, b: _distinct((*a, *b))),
        "array_intersect": _set(_common),
        "array_except": _set(_without),
        "arrays_overlap": Function(BOOL, python=_overlap, tolerant=True),
        "array_max": Function(_element, python=_extreme(max), tolerant=True),
        "array_min": Function(_element, python=_extreme(min), tolerant=True),
        "array_join": Function(Type.STRING, python=_joined, thorough=True),
        "array_reverse": _set(lambda values: values[::-1]),
        "sort_array": _set(lambda values, ascending: tuple(sorted(values, key=_key, reverse=not ascending))),
        "array_sort": _set(lambda values: tuple(sorted(values, key=lambda value: (value is None, in_order(value))))),
        "firsts_of_pairs": _set(lambda values: tuple(first for first in values for _ in values)),
        "seconds_of_pairs": _set(lambda values: values * len(values)),
        "sorted_by": Function(
            _same,
            python=_sorted_by,
            partial=True,
            failure=lambda _: "the function of array_sort is NULL for two elements",
        ),
        "slice": _set(_slice, partial=True),
        "flatten": Function(
            _element,
            python=lambda arrays: None if None in arrays else tuple(v for values in arrays for v in values),
            tolerant=True,
        ),
        "array_repeat": Function(
            lambda node, types: Type.array(types[0].or_null),
            python=lambda value, count: None if count is None or count > MOST_ELEMENTS else (value,) * count,
            strict=False,
            partial=True,
            failure=too_long,
        ),
        "sequence": Function(
            lambda node, types: Type.array(types[0].or_null), python=_sequence, partial=True, failure=no_sequence
        ),
        "map_from_arrays": Function(
            lambda node, types: Type.map(types[0].element.type, types[1].element), python=_map, partial=True
        ),
        "map_from_entries": Function(
            _of_entries_type,
            python=lambda entries: _map(*zip(*entries, strict=True)) if entries else (),
            partial=True,
        ),
        "arrays_zip": Function(
            _zipped_type, python=lambda *parts: _zipped(*parts[len(parts) // 2 :]), nullable=True, thorough=True
        ),
        "array_insert": Function(_same, python=_inserted, strict=False, partial=True),
        "str_to_map": Function(Type.map(Type.STRING, Type.STRING.or_null), python=_texts_map, partial=True),
        "map_keys": Function(
            lambda node, types: Type.array(types[0].key.or_null),
            python=lambda m: tuple(k for k, _ in m),
            columns=lambda columns, count: lists_of(columns[0], "keys"),
        ),
        "map_values": Function(
            lambda node, types: Type.array(types[0].value.type.or_null),
            python=lambda m: tuple(v for _, v in m),
            columns=lambda columns, count: lists_of(columns[0], "items"),
        ),
        "map_entries": Function(_entries, python=lambda pairs: pairs),
        "map_concat": _set(lambda *maps: _map(*_unzipped(maps)), partial=True),
        "map_contains_key": Function(BOOL, python=lambda pairs, key: any(_key(k) == _key(key) for k, _ in pairs)),
        "indices": Function(Type.array(INT.or_null), python=lambda values: tuple(range(len(values)))),
        "chosen": _set(lambda values, mask: tuple(v for v, wanted in zip(values, mask, strict=True) if wanted)),
        "any_of": Function(BOOL, python=_any, tolerant=True),
        "all_of": Function(BOOL, python=_all, tolerant=True),
        "padded": _set(lambda values, other: values + (None,) * (len(other) - len(values))),
        "values_at": Function(
            lambda node, types: Type.array(types[0].value.type.or_null),
            python=lambda pairs, keys: tuple(_value_at(pairs, key) for key in keys),
        ),
        "ordered_maps": Function(lambda node, types: types[0], python=_ordered),
        # Rows have a map as its entries.
        "retyped": Function(type_of_literal, python=lambda value, type_: value),
        "named_struct": Function(_struct, python=lambda *parts: parts[1::2], strict=False, nullable=False),
        "field": Function(_field, _field_sql, tolerant=True),
    },
)


def _unzipped(maps: Iterable[Values]) -> tuple[Values, Values]:
    pairs = [pair for result in maps for pair in result]
    return tuple(k for k, _ in pairs), tuple(v for _, v in pairs)


_NORM = """
CASE
    WHEN len({0}) <> list_count({0}) THEN NULL
    WHEN {1} = 1 THEN coalesce(list_sum(list_transform({0}, lambda x: abs(x::DOUBLE))), 0)
    WHEN {1} = 2 THEN sqrt(coalesce(list_sum(list_transform({0}, lambda x: x::DOUBLE * x)), 0))
    ELSE coalesce(list_max(list_transform({0}, lambda x: abs(x::DOUBLE))), 0)
END"""

FUNCTIONS |= {
    "inner_product": Function(Type.FLOAT64, "list_inner_product({0}::DOUBLE[], {1}::DOUBLE[])", tolerant=True),
    "l2_distance": Function(Type.FLOAT64, "list_distance({0}::DOUBLE[], {1}::DOUBLE[])", tolerant=True),
    "norm": Function(Type.FLOAT64, _NORM, tolerant=True),
}
