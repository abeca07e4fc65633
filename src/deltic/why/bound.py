"""Rows, and values of some of their columns that are *bound*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from deltic.values.types import Schema

Row = tuple[Any, ...]
Bound = Mapping[str, Any]
Rows = dict[Row, int]
"""Rows with their weights, none of them zero."""
Value = TypeVar("Value")


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal as keys: NULL equals NULL."""
    return a is b or a == b


def named(row: Row, schema: Schema) -> dict[str, Any]:
    """Return the values of a row by column."""
    return dict(zip(schema.names, row, strict=True))


def agreeing(rows: dict[Row, Value], schema: Schema, bound: Bound) -> dict[Row, Value]:
    """Return the entries of the rows that have these values."""
    if not rows or not bound:
        return rows
    places, wanted = [schema.index(name) for name in bound], [*bound.values()]
    return {row: value for row, value in rows.items() if all(map(same, [row[i] for i in places], wanted))}
