"""Rules of functions of arrays, structs and maps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlglot import exp

from deltic.circuit.expressions import Mapped, bound, higher_order
from deltic.circuit.types import Kind, Type
from deltic.sql.scalars import operators
from deltic.sql.scalars.coercion import coerced, type_in_common
from deltic.sql.scalars.folding import folded
from deltic.sql.scalars.functions.rules import apply, attempt, literal_of, must, rule, same_type, to
from deltic.sql.scalars.operators import Mismatch, case
from deltic.sql.scalars.typed import Typed, constant, of_node

TEXT, INT, BOOL = Type.STRING, Type.INT32, Type.BOOLEAN


def _array(value: Typed) -> Type:
    """The type of an argument that must be an array."""
    if value.type.type.kind is not Kind.ARRAY:
        raise Mismatch("an array is taken here")
    return value.type.type


def _map(value: Typed) -> Type:
    """The type of an argument that must be a map."""
    if value.type.type.kind is not Kind.MAP:
        raise Mismatch("a map is taken here")
    return value.type.type


def _element(array: Typed, value: Typed) -> tuple[Typed, Typed]:
    """An array and a value of its elements' type, both brought to what they have in common."""
    target = type_in_common([Typed(value.expression, _array(array).element), value])
    if target is None or value.is_null:
        raise Mismatch("the value is of the type of the elements")
    return coerced(array, Type.array(target.or_null)), coerced(value, target)


@rule("array")
def array(*values: Typed) -> Typed:
    """The array of these values."""
    if not values:
        raise Mismatch("an empty array has no type; cast NULL to one, or use slice")
    type_ = same_type(values)
    return attempt("array", *(coerced(value, type_) for value in values))


def _arrays(*values: Typed) -> list[Typed]:
    """Arrays brought to one type."""
    for value in values:
        _array(value)
    type_ = same_type(values)
    return [coerced(value, Type.array(type_.element.type.or_null)) for value in values]


for _name in ("array_union", "array_intersect", "array_except", "arrays_overlap"):
    rule(_name)(lambda a, b, name=_name: attempt(name, *_arrays(a, b)))
for _name in ("array_distinct", "array_compact", "array_max", "array_min", "array_sort"):
    rule(_name)(lambda a, name=_name: attempt(name, *_arrays(a)))
for _name in ("array_contains", "array_position", "array_remove"):
    rule(_name)(lambda a, b, name=_name: attempt(name, *_element(a, b)))


@rule("array_concat")
def array_concat(*arrays: Typed) -> Typed:
    """Arrays one after the other."""
    return attempt("array_concat", *_arrays(*arrays))


def _longer(name: str, values: Typed, value: Typed) -> Typed:
    """The array with one value more; NULL where there is no array."""
    wide, own = (
        (_arrays(values)[0], coerced(value, _array(values).element.type)) if value.is_null else _element(values, value)
    )
    found = attempt(name, wide, own)
    is_there = operators.logic(exp.Not, [_is_null(wide)])
    return case([(is_there, found)], None) if wide.type.nullable else found


def _is_null(value: Typed) -> Typed:
    return of_node(exp.Is(this=value.expression.copy(), expression=exp.Null()), value)


rule("array_append")(lambda values, value: _longer("array_append", values, value))
rule("array_prepend")(lambda values, value: _longer("array_prepend", values, value))


@rule("size", "cardinality", "array_size")
def size(value: Typed) -> Typed:
    """How many elements or entries there are."""
    if value.is_null:
        return coerced(value, INT)
    if value.type.type.kind not in (Kind.ARRAY, Kind.MAP):
        raise Mismatch("an array or a map is taken here")
    return attempt("size", value)


@rule("get")
def get(values: Typed, index: Typed) -> Typed:
    """The element at an index from 0 on; NULL where there is none."""
    _array(values)
    return attempt("get", values, to(index, INT))


def item(values: Typed, index: Typed) -> Typed:
    """`values[index]`: the element at an index from 0 on, which must be there; or the value of a key, NULL if none."""
    if values.type.type.kind is Kind.MAP:
        return _value_at(values, index)
    _array(values)
    place = to(index, INT)
    inside = operators.logic(
        exp.And,
        [operators.comparison(exp.GTE, place, constant(0, INT)), operators.comparison(exp.LT, place, size(values))],
    )
    return _there("get", inside, values, place)


@rule("element_at")
def element_at(values: Typed, index: Typed) -> Typed:
    """The element at a place from 1 on, or from −1 at the end on, which must be there; or the value of a key."""
    if values.type.type.kind is Kind.MAP:
        return _value_at(values, index)
    _array(values)
    place, count = to(index, INT), size(values)
    least, most = operators.negated(count), count
    bounds = [
        operators.comparison(exp.NEQ, place, constant(0, INT)),
        operators.comparison(exp.GTE, place, least),
        operators.comparison(exp.LTE, place, most),
    ]
    return _there("at", operators.logic(exp.And, [operators.logic(exp.And, bounds[:2]), bounds[2]]), values, place)


@rule("try_element_at")
def try_element_at(values: Typed, index: Typed) -> Typed:
    """The element at a place from 1 on, or from the end; NULL where there is none."""
    if values.type.type.kind is Kind.MAP:
        return _value_at(values, index)
    _array(values)
    return attempt("at", values, to(index, INT))


def _there(name: str, inside: Typed, values: Typed, place: Typed) -> Typed:
    """An element that must be there; it may be NULL itself."""
    return folded(case([(inside, attempt(name, values, place))], must(name, values, place)))


def _value_at(values: Typed, key: Typed) -> Typed:
    return attempt("value_at", values, to(key, _map(values).key))


@rule("array_join")
def array_join(values: Typed, separator: Typed, instead: Typed | None = None) -> Typed:
    """The elements as texts with a separator between them; those that are NULL are left out, or replaced."""
    _array(values)
    own = [coerced(values, Type.array(TEXT.or_null)), to(separator, TEXT)]
    return attempt("array_join", *own, *([] if instead is None else [to(instead, TEXT)]))


@rule("reverse")
def reverse(value: Typed) -> Typed:
    """The elements or letters in the opposite order."""
    is_array = value.type.type.kind is Kind.ARRAY
    return attempt("array_reverse", value) if is_array else attempt("reverse", to(value, TEXT))


@rule("sort_array")
def sort_array(values: Typed, ascending: Typed | None = None) -> Typed:
    """The elements in order, NULL below all others."""
    if not _array(values).is_ordered:
        raise Mismatch("the elements have no order")
    return attempt("sort_array", values, ascending or constant(True, BOOL))


@rule("slice")
def slice_(values: Typed, start: Typed, length: Typed) -> Typed:
    """Some elements from a place on, which counts from 1, or from the end if it is negative."""
    _array(values)
    return apply("slice", values, to(start, INT), to(length, INT))


@rule("flatten")
def flatten(values: Typed) -> Typed:
    """The elements of the arrays in an array."""
    if _array(values).element.type.kind is not Kind.ARRAY:
        raise Mismatch("an array of arrays is taken here")
    return attempt("flatten", values)


@rule("array_repeat")
def array_repeat(value: Typed, count: Typed) -> Typed:
    """The value so many times."""
    if value.is_null:
        raise Mismatch("NULL has no type; cast it to one")
    return attempt("array_repeat", value, to(count, INT))


@rule("sequence")
def sequence(start: Typed, stop: Typed, step: Typed | None = None) -> Typed:
    """The integers from one to another; by 1, or by −1 downward, where no step is given."""
    given = [start, stop] if step is None else [start, stop, step]
    type_ = same_type(given)
    if not type_.is_integer:
        raise Mismatch("sequence takes integers here")
    first, last = coerced(start, type_), coerced(stop, type_)
    one = coerced(constant(1, INT), type_)
    up = operators.comparison(exp.LTE, first, last)
    by = case([(up, one)], operators.negated(one)) if step is None else coerced(step, type_)
    return apply("sequence", first, last, by)


@rule("map")
def map_(*parts: Typed) -> Typed:
    """The map of keys and values, which stand in turn."""
    if not parts or len(parts) % 2:
        raise Mismatch("map takes keys and values in turn")
    return apply("map_from_arrays", array(*parts[::2]), array(*parts[1::2]))


@rule("map_from_arrays")
def map_from_arrays(keys: Typed, values: Typed) -> Typed:
    """The map of keys and their values."""
    _array(keys), _array(values)
    return apply("map_from_arrays", keys, values)


def _of_map(name: str, value: Typed) -> Typed:
    """The keys, the values or the entries of a map as an array."""
    _map(value)
    return attempt(name, value)


for _name in ("map_keys", "map_values", "map_entries"):
    rule(_name)(partial(_of_map, _name))


@rule("map_concat")
def map_concat(*maps: Typed) -> Typed:
    """The entries of all maps; no key twice."""
    for value in maps:
        _map(value)
    type_ = same_type(maps)
    return apply("map_concat", *(coerced(value, type_) for value in maps))


@rule("map_contains_key")
def map_contains_key(value: Typed, key: Typed) -> Typed:
    """Whether the map has the key."""
    return attempt("map_contains_key", value, to(key, _map(value).key))


@rule("named_struct")
def named_struct(*parts: Typed) -> Typed:
    """The struct of names and values, which stand in turn."""
    if not parts or len(parts) % 2:
        raise Mismatch("named_struct takes names and values in turn")
    return struct([literal_of(name, "the name of a field") for name in parts[::2]], parts[1::2])


def struct(names: Sequence[str], values: Sequence[Typed]) -> Typed:
    """The struct of these fields."""
    own = [coerced(value, BOOL) if value.is_null else value for value in values]
    pairs = zip((constant(name, TEXT) for name in names), own, strict=True)
    try:
        return attempt("named_struct", *(part for pair in pairs for part in pair))
    except ValueError as error:
        raise Mismatch(str(error)) from None


def field(value: Typed, name: str) -> Typed:
    """A field of a struct, or of the structs in an array, by its name in any case."""
    type_ = value.type.type
    if type_.kind is Kind.ARRAY and type_.element.type.kind is Kind.STRUCT:
        of_one = field(Typed(bound("x", type_.element.type), type_.element), name)
        return of_node(higher_order(Mapped, ["x"], [value.expression], of_one.expression), value, of_one)
    if type_.kind is not Kind.STRUCT:
        raise Mismatch("a STRUCT has fields")
    found = [column for column in type_.fields if column.name.lower() == name.lower()]
    if len(found) != 1:
        raise Mismatch(f"its fields are {', '.join(column.name for column in type_.fields)}")
    return attempt("field", value, constant(found[0].name, TEXT))
