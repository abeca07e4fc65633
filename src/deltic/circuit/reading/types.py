"""The types of edges, from the parsed text."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree

from deltic.circuit.edges import BundleType, EdgeType, ZSetType
from deltic.circuit.reading.places import TextPlaces
from deltic.values.types import Column, Kind, Schema, Type, ValueType
from deltic.values.words import unquoted

_TYPES = {str(type_): type_ for type_ in Type.simple()}
_KINDS = {kind.value: kind for kind in Kind}


def read_type(tree: Tree[Token], places: TextPlaces) -> EdgeType:
    """The type of a Z-set or of a bundle of them."""
    if tree.data == "zset":
        return _zset(tree.children, places)
    entries: list[Any] = [entry.children for entry in tree.children if isinstance(entry, Tree)]
    return BundleType(tuple((unquoted(name), _zset(zset.children, places)) for name, zset in entries))


def _zset(parts: list[Any], places: TextPlaces) -> ZSetType:
    kind, *columns, depth = parts
    if kind not in ("set", "zset"):
        raise places.unknown(kind, "kind of edge", ("set", "zset"))
    try:
        schema = Schema(tuple(_column(column.children, places) for column in columns if column is not None))
    except ValueError as error:
        raise places.error(kind, str(error)) from None
    return ZSetType(schema, kind == "set", int(depth[1:]) if depth else 0)


def _column(parts: list[Any], places: TextPlaces) -> Column:
    name, value = parts
    type_ = _value(value.children, places)
    return Column(unquoted(name), type_.type, type_.nullable)


def _value(parts: list[Any], places: TextPlaces) -> ValueType:
    """The type and nullability of a column, a field or an element."""
    name, *arguments, fields, nullable = parts
    arguments = [argument.children for argument in arguments if argument is not None]
    if name not in _KINDS:
        raise places.unknown(name, "type", _KINDS)
    try:
        return ValueType(_type(_KINDS[name], arguments, fields, places), nullable is not None)
    except ValueError as error:
        raise places.error(name, str(error)) from None


def _type(kind: Kind, arguments: list[Any], fields: Tree[Token] | None, places: TextPlaces) -> Type:
    """The type of a kind with its (parentheses) and {braces}; ValueError where they do not fit."""
    if kind is Kind.STRUCT and fields is not None and not arguments:
        columns: list[Any] = [column.children for column in fields.children if isinstance(column, Tree)]
        return Type.struct(_column(column, places) for column in columns)
    if fields is None and kind is Kind.DECIMAL:
        digits = [int(first) for first, *rest in arguments if first.isdecimal() and not any(rest)]
        if len(digits) == len(arguments) == 2:
            return Type.decimal(*digits)
    elif fields is None and not (arguments or kind in (Kind.ARRAY, Kind.STRUCT, Kind.MAP)):
        return _TYPES[kind.value]
    elif fields is None and (kind, len(arguments)) in ((Kind.ARRAY, 1), (Kind.MAP, 2)):
        *keys, last = (_value(argument, places) for argument in arguments)
        if not any(key.nullable for key in keys):
            return Type.array(last) if kind is Kind.ARRAY else Type.map(keys[0].type, last)
    raise ValueError(f"{kind.value} is written {_FORMS.get(kind, kind.value)}")


_FORMS = {
    Kind.DECIMAL: "decimal(precision, scale)",
    Kind.ARRAY: "array(type)",
    Kind.STRUCT: "struct{name: type, ...}",
    Kind.MAP: "map(type, type), where the first is never NULL",
}
