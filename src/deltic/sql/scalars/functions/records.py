"""Rules of functions that convert values to JSON, JSON to values of a named type, and variants to values.

Columns cannot hold variants: an expression that makes one is read in place, as a JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import ParseError

from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import ProgramError
from deltic.functions.json import OPTIONS, SWITCHES, JsonOptions
from deltic.functions.patterns import READABLE, WRITABLE, parts_of
from deltic.functions.records import schema_of
from deltic.functions.variants import steps_of
from deltic.sql.collations import Modifier
from deltic.sql.scalars import operators
from deltic.sql.scalars.coercion import coerced, with_written_intervals
from deltic.sql.scalars.conditions import null_if
from deltic.sql.scalars.functions.rules import apply, attempt, literal_of, must, plain, rule, to
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, constant
from deltic.sql.text import SourceText
from deltic.sql.types import modifier_of, type_of
from deltic.values.types import Kind, Type
from deltic.values.types.names import type_name

TEXT = Type.STRING
_ROOTS = (Kind.STRUCT, Kind.ARRAY, Kind.MAP)
_INSIDE = (Kind.YEAR_MONTH_INTERVAL, Kind.DAY_TIME_INTERVAL)


@rule("to_json")
def to_json(value: Typed, options: Typed | None = None) -> Typed:
    """A struct, an array or a map as JSON."""
    if value.is_null:
        return coerced(value, TEXT)
    if value.type.type.kind not in _ROOTS:
        raise Mismatch("to_json takes a struct, an array or a map")
    value = with_written_intervals(value)
    type_ = value.type.type
    return attempt("to_json", value, constant(type_name(type_), TEXT), *_given(_chosen(options, WRITABLE, _OF_WRITING)))


@rule("from_json")
def from_json(text: Typed, schema: Typed, options: Typed | None = None) -> Typed:
    """The value of a JSON text, of a type that is written as in a table's declaration."""
    type_, modifier = schema_named(literal_of(schema, "the schema of from_json"))
    if type_.kind not in _ROOTS or _has(type_, _INSIDE) or (type_.kind is Kind.MAP and type_.key is not TEXT):
        raise Mismatch("from_json needs the schema of a struct, an array, or a map from STRING")
    chosen = _chosen(options, READABLE, _OF_READING)
    given = [constant(type_name(type_), TEXT), *_given(chosen)]
    if not chosen.get("fails"):
        return replace(attempt("from_json", to(text, TEXT), *given), modifier=modifier)
    there = null_if(plain("btrim", [text]), constant("", TEXT))
    return replace(must("from_json", there, *given), modifier=modifier)


@rule("schema_of_json")
def schema_of_json(text: Typed, options: Typed | None = None) -> Typed:
    """The type of a literal JSON text, as a schema for from_json."""
    how = JsonOptions(**_chosen(options, READABLE, _OF_READING))
    result = schema_of(literal_of(text, "the text of schema_of_json"), how)
    if result is None:
        raise Mismatch("the text is no JSON")
    return constant(result, TEXT)


_TIMES = ("dateformat", "timestampformat", "timestampntzformat")
_OF_WRITING = ("ignorenullfields", "pretty", "sortkeys", "timezone", "locale", *_TIMES)
_OF_READING = ("mode", "timezone", "locale", *OPTIONS, *(name for name in SWITCHES if name not in _OF_WRITING))
"""Options that change what is written and read; others have no meaning for single texts, or are not there."""


def _given(chosen: dict[str, Any]) -> list[Typed]:
    """Return the options as an argument of the function; none if no option is given."""
    return [constant(json.dumps(chosen), TEXT)] if chosen else []


def _chosen(options: Typed | None, letters: Collection[str], names: Sequence[str]) -> dict[str, Any]:
    """Return the options in a map; Mismatch for an unknown name or value."""
    chosen: dict[str, Any] = {}
    for name, value in pairs_of(options):
        match name.lower():
            case own if own not in names:
                raise Mismatch(f"there is no option {name} here; the options are {', '.join(names)}")
            case "mode" if value.upper() in ("PERMISSIVE", "FAILFAST"):
                chosen["fails"] = value.upper() == "FAILFAST"
            case "timezone" if value.upper() in ("UTC", "Z", "GMT", "+00:00", "ETC/UTC"):
                pass
            case "locale" if value.lower() in ("en-us", "en"):
                pass
            case "mode" | "timezone" | "locale":
                raise Mismatch(f"{name} is PERMISSIVE or FAILFAST, UTC, or en-US, and here it is {value}")
            case "ignorenullfields":
                chosen["keeps_null"] = not _switch(name, value)
            case own if own in SWITCHES:
                chosen[SWITCHES[own]] = _switch(name, value)
            case own:
                if own in _TIMES and (unknown := [p for p, is_one in parts_of(value) if is_one and p not in letters]):
                    raise Mismatch(f"{name} has {unknown[0]}, which no pattern of a time has here")
                chosen[OPTIONS[own]] = value
    return chosen


def pairs_of(options: Typed | None) -> Sequence[tuple[str, str]]:
    """Return the names and values of options, which are a map of texts as they are written."""
    if options is None or options.is_null:
        return ()
    type_ = options.type.type
    is_of_texts = type_.kind is Kind.MAP and type_.key is TEXT and type_.value.type is TEXT
    if not is_of_texts or options.expression.find(exp.Column):
        raise Mismatch("options are written as map('name', 'value', …)")
    result: Sequence[tuple[str, str]] = evaluate(options.expression, {}, {})
    return result


def _switch(name: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise Mismatch(f"the option {name} is true or false, and here it is {value}")
    return value.lower() == "true"


def _has(type_: Type, kinds: tuple[Kind, ...]) -> bool:
    """Return whether values of a type have parts of some kinds."""
    return type_.kind in kinds or any(_has(part.type, kinds) for part in type_.parts)


def schema_named(written: str) -> tuple[Type, Modifier | None]:
    """Return the type that a text names, and its collations: columns with their types, or one type."""
    for text in (f"STRUCT<{written}>", written):
        try:
            node, source = parse_one(text, into=exp.DataType, dialect="spark"), SourceText(text)
            return type_of(node, source), modifier_of(node, source)
        except (ParseError, ProgramError, ValueError):
            continue
    raise Mismatch(f"{written!r} is no schema; write 'a INT, b ARRAY<STRING>' or another type")


# Variants

Of = Callable[[exp.Expression], Typed]
_OTHERS = (Kind.BINARY, *_INSIDE)


def variant(node: exp.Expression, of: Of) -> Typed | None:
    """Return the JSON text of the variant that a node makes by parse_json, perhaps with a path; else None."""
    made = node.unnest()
    name, given = (made.name.lower(), made.expressions) if isinstance(made, exp.Anonymous) else ("", [])
    if name in ("parse_json", "try_parse_json") and len(given) == 1:
        return (apply if name == "parse_json" else attempt)("parse_variant", to(of(given[0]), TEXT))
    if name in ("variant_get", "try_variant_get") and len(given) == 2:
        whole = variant(given[0], of)
        return whole and _at(whole, of(given[1]))
    return None


def read_variant(node: exp.Expression, of: Of) -> Typed | None:
    """Return a call that reads a variant and returns a value of another type; None for another call."""
    name, given = node.name.lower(), node.expressions
    if name in ("variant_get", "try_variant_get") and len(given) == 3:
        whole = variant(given[0], of)
        type_, _ = schema_named(literal_of(of(given[2]), f"the type of {name}"))
        return whole and cast_variant(_at(whole, of(given[1])), type_, is_safe=name != "variant_get")
    if name in ("is_variant_null", "to_json") and len(given) == 1:
        whole = variant(given[0], of)
        if name == "to_json":
            return whole and apply("written_variant", whole)
        return whole and operators.comparison(exp.NullSafeEQ, whole, constant("null", TEXT))
    return None


def cast_variant(value: Typed, target: Type, is_safe: bool) -> Typed:
    """Return a variant cast to a type; if it `is_safe` it is NULL where it cannot be."""
    if not _is_target(target):
        raise Mismatch("a variant is cast to numbers, texts, BOOLEAN, dates, times, and arrays, maps, structs of them")
    there = null_if(value, constant("null", TEXT))
    way = attempt if is_safe else must
    return way("cast_variant", there, constant(type_name(target), TEXT), constant(is_safe, Type.BOOLEAN))


def _is_target(type_: Type) -> bool:
    if type_.kind in _OTHERS or (type_.kind is Kind.MAP and type_.key is not TEXT):
        return False
    return all(_is_target(part.type) for part in type_.parts)


def _at(whole: Typed, path: Typed) -> Typed:
    text = literal_of(path, "the path of a variant")
    if steps_of(text) is None:
        raise Mismatch(f"{text!r} is no path; write '$.a[0].b'")
    return attempt("variant_at", whole, constant(text, TEXT))
