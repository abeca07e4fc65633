"""Variants, which columns cannot hold: an expression that makes one is read in place, as a JSON text."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from deltic.functions.variants import steps_of
from deltic.sql.scalars import operators
from deltic.sql.scalars.conditions import null_if
from deltic.sql.scalars.functions.records import schema_named
from deltic.sql.scalars.functions.rules import apply, attempt, literal_of, must, to
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, constant
from deltic.values.types import Kind, Type
from deltic.values.types.names import type_name

TEXT = Type.STRING
Of = Callable[[exp.Expression], Typed]
_OTHERS = (Kind.BINARY, Kind.YEAR_MONTH_INTERVAL, Kind.DAY_TIME_INTERVAL)


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


def read(node: exp.Expression, of: Of) -> Typed | None:
    """Return a call that reads a variant and returns a value of another type; None for another call."""
    name, given = node.name.lower(), node.expressions
    if name in ("variant_get", "try_variant_get") and len(given) == 3:
        whole = variant(given[0], of)
        type_, _ = schema_named(literal_of(of(given[2]), f"the type of {name}"))
        return whole and cast(_at(whole, of(given[1])), type_, is_safe=name != "variant_get")
    if name in ("is_variant_null", "to_json") and len(given) == 1:
        whole = variant(given[0], of)
        if name == "to_json":
            return whole and apply("written_variant", whole)
        return whole and operators.comparison(exp.NullSafeEQ, whole, constant("null", TEXT))
    return None


def cast(value: Typed, target: Type, is_safe: bool) -> Typed:
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
