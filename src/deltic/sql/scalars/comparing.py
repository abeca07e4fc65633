"""Texts where they are compared: by keys of their collation; and functions of texts that have one.

A collation is part of an expression, see `Typed.modifier`, and goes with columns. Values within arrays, maps and
structs have none: what would lose a collation there is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from deltic.circuit.expressions import is_literal
from deltic.functions import call
from deltic.sql.collations import Collation
from deltic.sql.scalars.folding import folded
from deltic.sql.scalars.typed import Mismatch, Typed, constant, in_common, of_node
from deltic.values.types import Type

_SIGMA = "ς", "σ"
"""The letter at the end of words, which equals the other where case does not count."""
_COMPARING = {"collate", "collation", "decode", "equal_null", "greatest", "least", "nullif", "typeof"}
"""Functions that are made of comparisons, or ask for the collation."""
_SEARCHING = {"contains", "startswith", "endswith", "find_in_set", "instr", "locate", "position", "like"}
"""Functions that find one text in another."""
_PATTERNS = {
    *("rlike", "regexp", "regexp_like", "regexp_count", "regexp_extract", "regexp_instr", "regexp_replace"),
    "regexp_substr",
}
"""Functions of a regular expression, which is their second argument."""
_CASES = "upper", "ucase", "lower", "lcase"
"""Functions that ICU computes by the rules of the language."""
_LETTERS = {
    *("initcap", "replace", "substring_index", "split", "split_part", "translate", "trim", "btrim", "ltrim", "rtrim"),
}
"""Functions that Spark computes in the collation, and Deltic by bytes alone."""
_WITHOUT = {
    *("base64", "date_format", "format_string", "from_unixtime", "get_json_object", "md5", "parse_url", "printf"),
    *("quote", "sha", "sha1", "sha2", "soundex", "to_char", "to_varchar", "try_parse_url", "url_decode"),
    *("url_encode", "try_url_decode", "from_utc_timestamp"),
}
"""Functions whose result is compared by bytes whatever its arguments are."""
_ALONE = "UTF8_LCASE is taken here and no other collation"


def key(text: Typed) -> Typed:
    """Return what of a text is compared, byte by byte; another value as it is."""
    collation = text.collation
    if collation is None or text.is_null:
        return text
    if collation.trims:
        text = _call("rtrim", text, " ")
    match collation.base:
        case "UTF8_BINARY":
            return replace(text, modifier=None)
        case "UTF8_LCASE":
            return _call("translate", _call("lower", text), *_SIGMA)
    return _call("collation_key", text, *collation.icu)


def _call(name: str, text: Typed, *others: str) -> Typed:
    operands = [text, *(constant(other, Type.STRING) for other in others)]
    return folded(of_node(call(name, *(operand.expression for operand in operands)), *operands))


def compared(values: Sequence[Typed], target: Type = Type.STRING) -> list[Typed]:
    """Return what of values is compared that are brought to this type. Raises Mismatch for texts of two collations."""
    if target is not Type.STRING or not any(value.collation for value in values):
        return list(values)
    modifier = in_common(values)
    return [key(replace(value, modifier=modifier)) if value.type.type is Type.STRING else value for value in values]


def called(name: str, arguments: Sequence[Typed], value: Callable[[str, Sequence[Typed]], Typed]) -> Typed:
    """Return the value of a function of arguments of which some have a collation, which its text has, too."""
    if name in _COMPARING or not any(argument.collation for argument in arguments):
        return value(name, arguments)
    collation = in_common(arguments)
    assert isinstance(collation, Collation)
    if any(argument.type.type.is_composite and not argument.is_null for argument in arguments):
        raise Mismatch("arrays, maps and structs have texts without a collation: compare the text itself")
    result = value(name, _taken(name, collation, [replace(argument, modifier=None) for argument in arguments]))
    if result.type.type.is_composite:
        raise Mismatch("a text with a collation is kept in a column of its own: write CAST(… AS STRING)")
    return replace(result, modifier=collation) if result.type.type is Type.STRING and name not in _WITHOUT else result


def _taken(name: str, collation: Collation, arguments: list[Typed]) -> list[Typed]:
    """Return the arguments as a function takes them that finds texts in others."""
    if collation.is_plain or name not in {*_SEARCHING, *_PATTERNS, *_LETTERS, *_CASES}:
        return arguments
    if collation.base == "UNICODE" and name in _CASES:
        return arguments
    if name.endswith("trim") and len(arguments) < 2:  # only blanks are trimmed
        return arguments
    if collation.name != "UTF8_LCASE":
        raise Mismatch(f"{name}: {_ALONE}")
    if name in _SEARCHING:
        return [key(replace(a, modifier=collation)) if a.type.type is Type.STRING else a for a in arguments]
    if name in _LETTERS or (name in _PATTERNS and not is_literal(arguments[1].expression)):
        raise Mismatch(f"{name} takes texts that are compared by bytes: write lower(CAST(… AS STRING))")
    if name in _PATTERNS:
        arguments[1] = constant(f"(?i){arguments[1].expression.name}", Type.STRING)
    return arguments
