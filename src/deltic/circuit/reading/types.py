"""The types of edges from the parsed text."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree

from deltic.circuit.reading.places import Places
from deltic.circuit.types import BundleType, Column, EdgeType, Schema, Type, ZSetType
from deltic.circuit.words import unquoted

_TYPES = {str(type_): type_ for type_ in Type.simple()}


def read_type(tree: Tree[Token], places: Places) -> EdgeType:
    """The type of a Z-set or of a bundle of them."""
    if tree.data == "zset":
        return _zset(tree.children, places)
    entries: list[Any] = [entry.children for entry in tree.children if isinstance(entry, Tree)]
    return BundleType(tuple((unquoted(name), _zset(zset.children, places)) for name, zset in entries))


def _zset(parts: list[Any], places: Places) -> ZSetType:
    kind, *columns, depth = parts
    if kind not in ("set", "zset"):
        raise places.unknown(kind, "kind of edge", ("set", "zset"))
    try:
        schema = Schema(tuple(_column(column.children, places) for column in columns if column is not None))
    except ValueError as error:
        raise places.error(kind, str(error)) from None
    return ZSetType(schema, kind == "set", int(depth[1:]) if depth else 0)


def _column(parts: list[Any], places: Places) -> Column:
    name, type_ = parts
    bare = type_.removesuffix("?")
    if bare not in _TYPES:
        raise places.unknown(type_, "type", _TYPES)
    return Column(unquoted(name), _TYPES[bare], bare != type_)
