"""Spark's variants as JSON texts, without blanks and with names in order: parsing, paths, casts."""

from __future__ import annotations

import json
import re
from decimal import Context, Decimal
from typing import Any

from deltic.functions.conversions import converter
from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.functions.json import quoted, refuse, type_of_literal, written
from deltic.values.types import Kind, Type
from deltic.values.types.names import type_named
from deltic.values.types.value import MAX_PRECISION

TEXT, DOUBLE = Type.STRING, Type.FLOAT64
_STEP = re.compile(r"""\.([^.\[]+)|\['([^']+)'\]|\["([^"]+)"\]|\[([0-9]+)\]""")
_EXACT = Context(prec=2 * MAX_PRECISION)
_OF_NUMBERS = (Kind.DATE, Kind.TIMESTAMP_NTZ)
_COMPOSITE = (Kind.STRUCT, Kind.ARRAY, Kind.MAP)


class _Bad(Exception):
    """A value cannot be cast to a type."""


def steps_of(path: str) -> list[str | int] | None:
    """Parse a path such as `$.a['b'][0]`; None where it is invalid."""
    result = list(_STEP.finditer(path, 1))
    if path[:1] != "$" or "".join(step[0] for step in result) != path[1:]:
        return None
    return [int(step[4]) if step[4] else step[1] or step[2] or step[3] for step in result]


def _number(text: str) -> int | float | Decimal:
    """Return a BIGINT, or a decimal of its digits, or a DOUBLE."""
    if not text.lstrip("-").isdecimal() and "e" in text.lower():
        return float(text)
    exact = Decimal(text)
    _, digits, exponent = exact.as_tuple()
    if max(len(digits), -int(exponent)) > MAX_PRECISION:
        return float(text)
    if "." not in text and -(2**63) <= exact < 2**63:
        return int(exact)
    return exact.normalize(_EXACT) if exact else 0


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(sorted(pairs, key=lambda pair: pair[0]))
    if len(result) < len(pairs):
        raise ValueError("a name occurs twice")
    return result


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=refuse, parse_int=_number, parse_float=_number)


def _parsed(text: str) -> str | None:
    """Return the first value of a text as it is kept; None where there is none."""
    own = text.lstrip(" \t\r\n")
    try:
        value, end = _DECODER.raw_decode(own)
        result = _kept(value)
        result.encode()  # raises an error for a lone surrogate
    except (ValueError, RecursionError):
        return None
    is_whole = own[:1] in ('"', "[", "{") or own[end : end + 1] in ("", " ", "\t", "\r", "\n")
    return result if is_whole else None


def _kept(value: Any) -> str:
    """Return a value as it is kept: as Spark writes it, but DOUBLEs with exponents, which tell them from decimals."""
    return written(value, _kept_scalar)


def _kept_scalar(value: Any) -> str:
    if isinstance(value, float):
        text = repr(value).replace("inf", "1e999")
        return text if "e" in text else f"{text}e0"
    return _scalar_shown(value)


def _scalar_shown(value: Any) -> str:
    """Return a text or a number as Spark writes it as JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float) and value - value != 0:
        return quoted(_text(value))
    return "null" if value is None else _text(value)


def _shown(variant: str) -> str:
    return written(_DECODER.decode(variant), _scalar_shown)


def _at(variant: str, path: str) -> str | None:
    """Return the part of a value at a path."""
    value = _DECODER.decode(variant)
    for step in steps_of(path) or ():
        is_element = isinstance(step, int) and isinstance(value, list) and step < len(value)
        if not is_element and not (isinstance(step, str) and isinstance(value, dict) and step in value):
            return None
        value = value[step]
    return _kept(value)


def _cast(variant: str, type_: str, is_safe: bool) -> Any:
    """Return a value cast to a type; None where it cannot be. If it `is_safe` parts that cannot be cast are None."""
    try:
        return _brought(_DECODER.decode(variant), type_named(type_), is_safe)
    except _Bad:
        return None


def _brought(value: Any, target: Type, is_safe: bool) -> Any:
    match value, target.kind:
        case None, _:
            return None
        case ((dict() | list()), Kind.STRING):
            return written(value, _scalar_shown)
        case dict(), Kind.STRUCT:
            return tuple(_part(value.get(c.name), c.type, is_safe) for c in target.fields)
        case dict(), Kind.MAP:
            return tuple((name, _part(part, target.value.type, is_safe)) for name, part in value.items())
        case list(), Kind.ARRAY:
            return tuple(_part(part, target.element.type, is_safe) for part in value)
    result = None if isinstance(value, dict | list) or target.kind in _COMPOSITE else _scalar(value, target)
    if result is None:
        raise _Bad
    return result


def _part(value: Any, target: Type, is_safe: bool) -> Any:
    try:
        return _brought(value, target, is_safe)
    except _Bad:
        if is_safe:
            return None
        raise


def _scalar(value: Any, target: Type) -> Any:
    source = _type_of(value)
    if source is not TEXT and (
        target.kind in _OF_NUMBERS or (source is Type.BOOLEAN and target.kind is Kind.TIMESTAMP)
    ):
        return None
    return converter(source, target)(value)


def _type_of(value: Any) -> Type:
    match value:
        case bool():
            return Type.BOOLEAN
        case int():
            return Type.INT64
        case Decimal():
            _, digits, exponent = value.as_tuple()
            scale = max(0, -int(exponent))
            return Type.decimal(max(len(digits) + max(0, int(exponent)), scale), scale)
    return DOUBLE if isinstance(value, float) else TEXT


def _text(value: Any) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(_scalar(value, TEXT))


FUNCTIONS |= by_rows(
    "no library has Spark's variants",
    {
        "parse_variant": Function(TEXT, takes=(TEXT,), names=(), python=_parsed, partial=True),
        "variant_at": Function(TEXT, takes=(TEXT, TEXT), names=(), python=_at, tolerant=True),
        "written_variant": Function(TEXT, takes=(TEXT,), names=(), python=_shown),
        "cast_variant": Function(type_of_literal, python=_cast, tolerant=True),
    },
)
