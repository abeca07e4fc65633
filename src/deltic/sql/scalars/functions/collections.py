"""Rules of functions of arrays, structs and maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from sqlglot import exp

from deltic.circuit.expressions import Mapped, bound, higher_order
from deltic.sql.collations import Collation, part, within
from deltic.sql.scalars import operators
from deltic.sql.scalars.coercion import coerced, mixes_texts, open_type, settled, type_in_common
from deltic.sql.scalars.comparing import by_key
from deltic.sql.scalars.comparing import key as key_of
from deltic.sql.scalars.functions.definitions import kind
from deltic.sql.scalars.functions.rules import (
    apply,
    array_of,
    array_or_null,
    attempt,
    literal_of,
    map_of,
    must,
    rule,
    same_type,
    to,
    where_present,
)
from deltic.sql.scalars.operators import Mismatch, case
from deltic.sql.scalars.typed import NULL, Typed, constant, folded, in_common, of_node
from deltic.sql.types import VOID
from deltic.values.types import Kind, Type, ValueType

TEXT, INT, BOOL = Type.STRING, Type.INT32, Type.BOOLEAN


def _element(array: Typed, value: Typed) -> tuple[Typed, Typed]:
    """Return an array and a value, both converted to their common element type."""
    array_of(array)
    element = open_type(array).element
    target = type_in_common([NULL if element.type is VOID else Typed(exp.column("element"), element), value])
    if target is None or mixes_texts([element.type, open_type(value)]):
        raise Mismatch("the value is of the type of the elements")
    return coerced(array, Type.array(target.or_null)), coerced(value, target)


@kind("texts")
def _texts(values: Typed, _: str) -> Typed:
    """An array as one of texts."""
    return coerced(array_or_null(values), Type.array(TEXT.or_null))


@kind("ordered")
def _ordered(values: Typed, _: str) -> Typed:
    """An array whose elements have an order."""
    items = array_or_null(values)
    if not items.type.type.is_ordered:
        raise Mismatch("the elements have no order")
    return items


@rule("array")
def array(*values: Typed) -> Typed:
    """The array of these values."""
    if not values:
        return attempt("array")
    type_ = same_type(values)
    made = attempt("array", *(coerced(value, type_) for value in values))
    return replace(made, modifier=within(in_common(values)))


def _arrays(*values: Typed) -> list[Typed]:
    """Arrays brought to one type."""
    for value in values:
        array_of(value)
    type_ = same_type(values)
    modifier = in_common(values)
    return [replace(coerced(value, Type.array(type_.element.type.or_null)), modifier=modifier) for value in values]


def _of_arrays(name: str, first: Typed, second: Typed) -> Typed:
    arrays = _arrays(first, second)
    if mixes_texts(open_type(value).element.type for value in (first, second)):
        raise Mismatch("the elements have no type in common; cast them to one")
    return attempt(name, *arrays)


def _of_one_array(name: str, values: Typed) -> Typed:
    return attempt(name, *_arrays(array_or_null(values)))


def _with_element(name: str, values: Typed, value: Typed) -> Typed:
    is_void = open_type(values) is Type.array(VOID.or_null)
    if value.is_null and (name == "array_contains" or (name == "array_position" and is_void)):
        raise Mismatch("NULL is in no array; ask exists(xs, x -> x IS NULL)")
    return attempt(name, *_element(values, value))


for _name in ("array_union", "array_intersect", "array_except", "arrays_overlap"):
    rule(_name)(partial(_of_arrays, _name))
for _name in ("array_distinct", "array_compact", "array_max", "array_min"):
    rule(_name)(partial(_of_one_array, _name))
for _name in ("array_contains", "array_position", "array_remove"):
    rule(_name)(partial(_with_element, _name))


@rule("array_concat")
def array_concat(*arrays: Typed) -> Typed:
    """Arrays one after the other."""
    return attempt("array_concat", *_arrays(*arrays))


def _longer(name: str, values: Typed, value: Typed) -> Typed:
    """Return the array with one value more; NULL where there is no array."""
    wide, own = _element(values, value)
    return where_present(attempt(name, wide, own), wide)


rule("array_append")(lambda values, value: _longer("array_append", values, value))
rule("array_prepend")(lambda values, value: _longer("array_prepend", values, value))


@rule("size", "cardinality", of="size")
def size(value: Typed) -> Typed:
    """How many elements or entries there are."""
    if value.is_null:
        return coerced(value, INT)
    if value.type.type.kind not in (Kind.ARRAY, Kind.MAP):
        raise Mismatch("an array or a map is taken here")
    return attempt("size", value)


def item(values: Typed, index: Typed) -> Typed:
    """`values[index]`: the element at an index from 0 on, which must be there; the value of a key, NULL if none.

    Of a struct, or of structs in an array, the field of that name.
    """
    if values.type.type.kind is Kind.MAP:
        return _value_at(values, index)
    if values.type.type.kind is Kind.STRUCT or (_are_structs(values.type.type) and index.type.type is TEXT):
        return field(values, str(literal_of(index, "the name of a field")))
    array_of(values)
    place = to(index, INT)
    inside = operators.logic(
        exp.And,
        [operators.comparison(exp.GTE, place, constant(0, INT)), operators.comparison(exp.LT, place, size(values))],
    )
    return folded(case([(inside, attempt("get", values, place))], must("get", values, place)))


@rule("elt", of="array get size")
def elt(number: Typed, *texts: Typed) -> Typed:
    """One of the texts, or of the bytes, by its number; it must be there."""
    are_bytes = all(text.type.type is Type.BINARY for text in texts)
    values = array(*(to(text, Type.BINARY if are_bytes else TEXT) for text in texts))
    return item(values, operators.arithmetic(exp.Sub, to(number, INT), constant(1, INT)))


@rule("element_at", "try_element_at", of="value_at")
def element_at(value: Typed, key: Typed) -> Typed:
    """The value of a key; elements of arrays are defined in SQL."""
    if value.type.type.kind is not Kind.MAP:
        raise Mismatch("an array or a map is taken here")
    return attempt("value_at", *_with_key(value, key))


def _by_key(values: Typed, key: Typed) -> tuple[Typed, Typed]:
    """Return a map and a key as they are compared, the key in the collation of the map's keys."""
    own = part(values.modifier)
    if not isinstance(own, Collation):
        return values, key
    return by_key(values), key_of(replace(key, modifier=in_common([key, replace(key, modifier=own)])))


def _with_key(values: Typed, key: Typed) -> tuple[Typed, Typed]:
    """Return a map and a key, both brought to the type that the key and the map's keys have in common."""
    type_ = map_of(values)
    known = map_of(replace(values, type=replace(values.type, type=open_type(values)))).key
    target = type_in_common([NULL if known is VOID else Typed(exp.column("key"), ValueType(known)), key])
    if target is None or mixes_texts([known, open_type(key)]):
        raise Mismatch("the key is of the type of the map's keys")
    wide = replace(coerced(values, Type.map(target, type_.value)), modifier=values.modifier)
    return _by_key(wide, replace(coerced(key, target), modifier=key.modifier))


def _value_at(values: Typed, key: Typed) -> Typed:
    return attempt("value_at", *_by_key(values, to(key, map_of(values).key)))


@rule("flatten")
def flatten(values: Typed) -> Typed:
    """The elements of the arrays in an array."""
    if array_of(values).element.type.kind is not Kind.ARRAY:
        raise Mismatch("an array of arrays is taken here")
    return attempt("flatten", values)


@rule("sequence", of="sequence sequence_of_times")
def sequence(start: Typed, stop: Typed, step: Typed | None = None) -> Typed:
    """The values from one integer, date or time to another; the default step is 1 or one day, up or down."""
    type_ = same_type([start, stop])
    if type_ in _TIMES:
        return _times(coerced(start, type_), coerced(stop, type_), step)
    if step is not None:
        type_ = same_type([start, stop, step])
    if not type_.is_integer:
        raise Mismatch("sequence takes integers, dates or timestamps")
    first, last = coerced(start, type_), coerced(stop, type_)
    one = coerced(constant(1, INT), type_)
    up = operators.comparison(exp.LTE, first, last)
    by = case([(up, one)], operators.negated(one)) if step is None else coerced(step, type_)
    return apply("sequence", first, last, by)


_TIMES = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
_DAY = constant(timedelta(days=1), Type.DAY_TIME_INTERVAL)


def _times(first: Typed, last: Typed, step: Typed | None) -> Typed:
    if step is None:
        up = operators.comparison(exp.LTE, first, last)
        return apply("sequence_of_times", first, last, case([(up, _DAY)], operators.negated(_DAY)))
    if step.type.type not in (Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL):
        raise Mismatch("the step from one date or time to another is an INTERVAL")
    return apply("sequence_of_times", first, last, step)


@rule("map_from_entries", of="map_from_entries array_compact size")
def map_from_entries(entries: Typed) -> Typed:
    """The map of the entries in an array of structs of a key and a value; NULL where one of these is NULL."""
    element = array_of(entries).element.type
    if element.kind is not Kind.STRUCT or len(element.fields) != 2:
        raise Mismatch("map_from_entries takes an array of structs of two fields")
    made = apply("map_from_entries", attempt("array_compact", entries))
    lengths = (attempt("size", value) for value in (entries, attempt("array_compact", entries)))
    return folded(case([(operators.comparison(exp.EQ, *lengths), made)], None))


def arrays_zip(names: Sequence[str], arrays: Sequence[Typed]) -> Typed:
    """Return an array of structs of the elements at each position of several arrays; the fields have these names."""
    if not arrays:
        raise Mismatch("arrays_zip takes arrays")
    items = [array_or_null(value) for value in arrays]
    return attempt("arrays_zip", *(constant(name, TEXT) for name in names), *items)


@rule("arrays_zip")
def _zipped(*arrays: Typed) -> Typed:
    """As above, without names."""
    return arrays_zip([str(i) for i in range(len(arrays))], arrays)


@rule("array_insert")
def array_insert(values: Typed, place: Typed, value: Typed) -> Typed:
    """The array with a value at a place from 1 on, or from -1 at the end on."""
    if place.is_null:
        raise Mismatch("the place is a number from 1 on, or from -1 at the end on")
    wide, own = _element(values, value)
    given = [wide, to(place, INT)]
    return folded(where_present(apply("array_insert", *given, own), *given))


@rule("map", of="array map_from_arrays")
def map_(*parts: Typed) -> Typed:
    """The map of alternating keys and values."""
    if len(parts) % 2:
        raise Mismatch("map takes keys and values in turn")
    return map_from_arrays(array(*parts[::2]), array(*parts[1::2]))


@rule("map_from_arrays")
def map_from_arrays(keys: Typed, values: Typed) -> Typed:
    """The map of keys and their values."""
    if not array_of(keys).is_ordered:
        raise Mismatch("the keys of a map have no maps in them")
    array_of(values)
    made = apply("map_from_arrays", keys, values)
    if keys.is_collated:  # no key is twice in it
        compared = size(apply("map_from_arrays", key_of(keys), values))
        made = case([(operators.comparison(exp.GTE, compared, constant(0, INT)), made)], None)
    return replace(made, modifier=within(part(keys.modifier), part(values.modifier)))


@rule("map_concat", of="map_concat array map_from_arrays")
def map_concat(*maps: Typed) -> Typed:
    """The entries of all maps; no key twice."""
    if not maps:
        return coerced(map_(), Type.map(TEXT, TEXT.or_null))
    for value in maps:
        map_of(value)
    type_, modifier = same_type(maps), in_common(maps)
    return apply("map_concat", *(replace(coerced(value, type_), modifier=modifier) for value in maps))


@rule("map_contains_key")
def map_contains_key(value: Typed, key: Typed) -> Typed:
    """Whether the map has the key."""
    if key.is_null:
        raise Mismatch("NULL is no key of a map")
    return attempt("map_contains_key", *_with_key(value, key))


@rule("named_struct", "struct", of="named_struct")
def named_struct(*parts: Typed) -> Typed:
    """The struct of alternating names and values."""
    if not parts or len(parts) % 2:
        raise Mismatch("named_struct takes names and values in turn")
    if any(name.type.type is not TEXT for name in parts[::2]):
        raise Mismatch("the name of a field is a STRING")
    return struct([literal_of(name, "the name of a field") for name in parts[::2]], parts[1::2])


def struct(names: Sequence[str], values: Sequence[Typed]) -> Typed:
    """Return the struct of these fields."""
    pairs = zip((constant(name, TEXT) for name in names), map(settled, values), strict=True)
    made = attempt("named_struct", *(each for pair in pairs for each in pair))
    return replace(made, modifier=within(*(value.modifier for value in values)))


def _are_structs(type_: Type) -> bool:
    return type_.kind is Kind.ARRAY and type_.element.type.kind is Kind.STRUCT


def field(value: Typed, name: str) -> Typed:
    """Return a field of a struct, or of the structs in an array, by its name in any case; the value of a key of a
    map.
    """
    type_ = value.type.type
    if type_.kind is Kind.MAP:
        return _value_at(value, constant(name, TEXT))
    if _are_structs(type_):
        of_one = field(Typed(bound("x", type_.element.type), type_.element, modifier=part(value.modifier)), name)
        made = of_node(higher_order(Mapped, ["x"], [value.expression], of_one.expression), value, of_one)
        return replace(made, modifier=within(of_one.modifier))
    if type_.kind is not Kind.STRUCT:
        raise Mismatch("a STRUCT has fields")
    result = [place for place, column in enumerate(type_.fields) if column.name.lower() == name.lower()]
    if len(result) != 1:
        raise Mismatch(f"its fields are {', '.join(column.name for column in type_.fields)}")
    found = attempt("field", value, constant(type_.fields[result[0]].name, TEXT))
    return replace(found, modifier=part(value.modifier, result[0]))
