"""Values where they are compared: texts by keys of their collation, maps in the order of their keys; and functions of
texts that have a collation.

A collation is part of an expression, see `Typed.modifier`, and goes with columns and into arrays, maps and structs.
Maps keep the order in which they were made, and are equal in any order. Aggregates that choose or list values take them
as arrays of their entries, which have an order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from deltic.functions import FUNCTIONS
from deltic.sql.collations import Collation, Within, everywhere, texts_of, within
from deltic.sql.scalars.coercion import can_coerce, coerced
from deltic.sql.scalars.composites import called as _made
from deltic.sql.scalars.composites import rebuilt
from deltic.sql.scalars.typed import Mismatch, Typed, collation_of, constant, defined, in_common
from deltic.values.types import Column, Kind, Type
from deltic.values.types.names import type_name

_SIGMA = "ς", "σ"
"""The letter at the end of words, which equals the other where case does not count."""
_OWN = {
    *("array", "collate", "collation", "decode", "element_at", "equal_null", "get", "greatest", "least", "map"),
    *("map_contains_key", "map_from_arrays", "named_struct", "nullif", "struct", "try_element_at", "typeof"),
    *("array_distinct", "array_except", "array_intersect", "array_max", "array_min", "array_remove", "array_sort"),
    *("array_union", "sort_array"),
}
"""Functions that are made of comparisons, put values together, or ask for the collation."""
_KEYED = {"array_contains", "array_position", "arrays_overlap"}
"""Functions that compare the elements of arrays, and return none of them."""
_SEARCHING = {"contains", "startswith", "endswith", "find_in_set", "instr", "locate", "position"}
"""Functions that find one text in another, neither of which has blanks at the end that do not count."""
_LETTERS = {"initcap", "replace", "substring_index", "split_part", "translate", "btrim", "ltrim", "rtrim"}
"""Functions that choose letters as these."""
_PATTERNS = {
    *("rlike", "regexp", "regexp_like", "regexp_count", "regexp_extract", "regexp_extract_all", "regexp_instr"),
    *("regexp_replace", "regexp_substr", "split", "str_to_map", "like", "ilike"),
}
"""Functions of patterns, which follow their first argument."""
_CASES = "upper", "ucase", "lower", "lcase", "initcap"
"""Functions that ICU computes by the rules of the language."""
_OWN_CASES = {"az", "el", "lt", "nl", "tr"}
"""The languages that have rules of their own for them."""
_WITHOUT = {
    *("base64", "date_format", "format_string", "from_unixtime", "get_json_object", "md5", "parse_url", "printf"),
    *("quote", "sha", "sha1", "sha2", "soundex", "to_char", "to_varchar", "try_parse_url", "url_decode"),
    *("url_encode", "try_url_decode", "from_utc_timestamp", "to_json", "to_csv"),
}
"""Functions whose result is compared by bytes whatever its arguments are."""


def key(value: Typed) -> Typed:
    """Return what of a value is compared, byte by byte: keys of texts that have a collation, also within others."""
    if value.is_null or not value.is_collated:
        return value
    if value.collation is None:
        return rebuilt(value, key)
    collation, text = value.collation, replace(value, modifier=None)
    if collation.trims:
        text = _made("rtrim", text, " ")
    match collation.base:
        case "UTF8_BINARY":
            return text
        case "UTF8_LCASE":
            return _made("translate", _made("lower", text), *_SIGMA)
    result = _made("collation_key", text, *collation.icu)
    return _made("letter_cases", result, text) if collation.ignored == {"AI"} else result


def by_key(values: Typed) -> Typed:
    """Return a map in which values are found by the keys of texts."""
    if not isinstance(values.modifier, Within) or not values.modifier.parts[0]:
        return values
    keys = replace(_made("map_keys", values), modifier=within(values.modifier.parts[0]))
    found = _made("map_from_arrays", key(keys), _made("map_values", values))
    return replace(found, modifier=within(None, values.modifier.parts[1]))


def compared(values: Sequence[Typed], target: Type = Type.STRING) -> list[Typed]:
    """Return what of values is compared that are brought to this type. Raises Mismatch for texts of two collations."""
    if not (target is Type.STRING or target.is_composite) or not any(value.is_collated for value in values):
        return list(values)
    modifier = in_common(values)
    return [
        key(replace(value, modifier=modifier)) if value.type.type.kind is target.kind else value for value in values
    ]


Function = Callable[[str, Sequence[Typed]], Typed]


def called(name: str, arguments: Sequence[Typed], value: Function) -> Typed:
    """Return the value of a function of arguments of which some have a collation, which its texts have, too."""
    if name in _OWN or not any(argument.is_collated for argument in arguments):
        return value(name, arguments)
    plain = [
        argument if isinstance(argument.modifier, Within) else replace(argument, modifier=None)
        for argument in arguments
    ]
    if name in _KEYED:
        collation = collation_of(arguments)
        return value(name, [key(replace(a, modifier=everywhere(a.type.type, collation))) for a in arguments])
    texts = [argument for argument in arguments if argument.type.type is Type.STRING]
    own = collation_of(arguments[:1] if name in _PATTERNS else texts)
    result = _in_collation(name, own, plain, value) if own and not own.is_plain else value(name, plain)
    if name in _WITHOUT or result.modifier is not None:
        return result
    has_texts = next(texts_of(result.type.type, None), result) is None
    own = own or collation_of(argument for argument in arguments if argument not in texts)
    return replace(result, modifier=everywhere(result.type.type, own)) if has_texts else result


def _in_collation(name: str, collation: Collation, arguments: list[Typed], value: Function) -> Typed:
    """Return the value of a function of texts in a collation."""
    if name in _CASES and collation.base.split("_")[0] in _OWN_CASES:
        raise Mismatch(f"{name} has rules of its own in {collation.base}: write CAST(… AS STRING)")
    if name in _PATTERNS:
        return value(name, _small(name, collation, arguments))
    if name not in _SEARCHING | _LETTERS or (name.endswith("trim") and len(arguments) < 2):
        return value(name, arguments)
    if collation.trims and name in _LETTERS:
        raise Mismatch(f"{name} takes no collation that ignores blanks at the end: write rtrim(…)")
    if name in _SEARCHING and collation.base in ("UTF8_BINARY", "UTF8_LCASE"):
        return value(
            name, [key(replace(a, modifier=collation)) if a.type.type is Type.STRING else a for a in arguments]
        )
    if collation.trims:
        arguments = [_made("rtrim", a, " ") if a.type.type is Type.STRING else a for a in arguments]
    if collation.ignored == {"AI"}:
        raise Mismatch(f"{name} takes no collation that ignores accents and not case")
    if name in ("ltrim", "rtrim"):
        arguments = arguments[::-1]
    if name in ("locate", "position"):
        name, arguments = "locate", [*arguments, constant(1, Type.INT32)][:3]
    if name == "replace":
        arguments = [*arguments, constant("", Type.STRING)][:3]
    how = (collation.base, "", "") if collation.base == "UTF8_LCASE" else collation.icu
    given = [*arguments, *(constant(text, Type.STRING) for text in how)]
    function = FUNCTIONS[f"collated_{name}"]
    if len(given) != len(function.takes) or not all(map(can_coerce, given, function.takes)):
        return value(name, [])  # which says what it takes
    own = list(map(coerced, given, function.takes))
    result = _made(f"collated_{name}", *own)
    return defined(result, *own) if function.partial else result


def _small(name: str, collation: Collation, arguments: list[Typed]) -> list[Typed]:
    """Return the arguments of a function of patterns, for texts in which case does not count."""
    if collation.name != "UTF8_LCASE":
        raise Mismatch(f"{name}: UTF8_LCASE is taken here and no other collation")
    if name == "ilike":
        return arguments
    if name == "like":
        return [key(replace(argument, modifier=collation)) for argument in arguments]
    last = 3 if name == "str_to_map" else 2
    patterns = [_made("concat", "(?iu)", pattern) for pattern in arguments[1:last]]
    return [arguments[0], *patterns, *arguments[last:]]


def comparable(value: Typed) -> Typed:
    """Return what of a value is compared: keys of a text, maps sorted by key, so that equal maps are the same."""
    value = key(value)
    if value.type.type.is_ordered:
        return value
    return _made("ordered_maps", replace(value, modifier=None), type_name(value.type.type))


def as_entries(value: Typed) -> Typed:
    """Return the value with arrays of entries instead of its maps; others as they are."""
    return value if value.type.type.is_ordered else _retyped(value, _entries(value.type.type))


def of_entries(value: Typed, type_: Type) -> Typed:
    """Return a value of a type that `as_entries` has changed, or an array of such values, with its maps."""
    return _retyped(value, type_ if value.type.type is _entries(type_) else Type.array(type_.or_null))


def _retyped(value: Typed, type_: Type) -> Typed:
    return _made("retyped", value, type_name(type_))


def _entries(type_: Type) -> Type:
    parts = [_entries(part.type).or_null for part in type_.parts]
    if type_.kind is not Kind.MAP:
        return type_.with_parts(parts) if parts else type_
    pair = (Column(name, part.type, True) for name, part in zip(("key", "value"), parts, strict=True))
    return Type.array(Type.struct(pair).or_null)
