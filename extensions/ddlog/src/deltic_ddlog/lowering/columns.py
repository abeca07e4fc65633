"""How DDlog's values stand in circuits: relations by their names, records as rows, and values in columns.

Booleans, strings, numbers of floating point and integers of up to 64 bits are columns of those types, so that joins,
comparisons and arithmetic work on them at full speed. All other values are texts, as dumps print them. A record of a
type with one constructor is a row with a column for each field; other records are rows of one column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deltic.values.types import Column, Schema, Type
from deltic_ddlog import types as t
from deltic_ddlog.check import ResolvedModules
from deltic_ddlog.codecs import Codecs
from deltic_ddlog.values import Constructor, Struct

RECORD = "record"
"""The column of relations whose records have no fields."""
INDEX, INSPECTED = "index?", "inspect?"


def catalog_name(relation: str) -> str:
    """Return the name of a relation, `module.R` for `module::R`."""
    return relation.replace("::", ".")


def delayed_name(relation: str, delay: int) -> str:
    """Return the name of the table that has what a relation had this many transactions ago."""
    return f"{catalog_name(relation)}.delayed{delay}" if delay else catalog_name(relation)


def index_name(index: str) -> str:
    """Return the name of the view of an index's records with what they are found by."""
    return f"{INDEX}.{catalog_name(index)}"


def native_type(type_: t.DdlogType) -> Type | None:
    """Return the type of the columns that hold values of a type as they are; None where they are texts."""
    match t.content(type_):
        case t.Bool():
            return Type.BOOLEAN
        case t.String():
            return Type.STRING
        case t.Float() | t.Double():
            return Type.FLOAT64
        case t.Bit(width) if width < 64:
            return Type.INT64
        case t.Bit(64):
            return Type.UINT64
        case t.Signed(width) if width <= 64:
            return Type.INT64
    return None


def same(value: Any) -> Any:
    """Return a value as it is."""
    return value


class ProgramColumns:
    """The columns of a program's values."""

    def __init__(self, checked: ResolvedModules) -> None:
        self._checked, closures = checked, checked.functions.closures
        self.codecs = Codecs(checked.types, "dump", closures)
        self._stored = Codecs(checked.types, "store", closures)

    def type(self, type_: t.DdlogType) -> Type:
        """Return the type of a column of values."""
        return native_type(type_) or Type.STRING

    def has(self, type_: t.DdlogType) -> bool:
        """Return whether values of the type can stand in columns."""
        return native_type(type_) is not None or self.codecs.has(type_)

    def reading(self, type_: t.DdlogType) -> Callable[[Any], Any]:
        """Return the function from a column's content to the value."""
        return same if native_type(type_) else self._stored.of(type_).of_text

    def writing(self, type_: t.DdlogType) -> Callable[[Any], Any]:
        """Return the function from a value to its column's content."""
        return same if native_type(type_) else self._stored.of(type_).show

    def ordering(self, type_: t.DdlogType, read: Callable[..., Any]) -> Callable[..., Any]:
        """Return the sort key of columns whose values `read` makes; functions are ordered by their texts."""
        if isinstance(t.content(type_), t.CallableType):
            return same
        key = self.codecs.key(type_)
        return lambda *values: key(read(*values))

    def form(self, record: t.DdlogType) -> Form:
        """Return the columns of records of a type."""
        record = t.content(record)
        if isinstance(record, t.Named) and len(made := self._checked.types[record.name].constructors) == 1:
            constructor = made[0][0]
            return Form(record, constructor, constructor.fields, self._checked.fields(record, constructor), self)
        return Form(record, None, (RECORD,), (record,), self)


@dataclass(frozen=True)
class Form:
    """How records of a type stand in rows: by the fields of their one constructor, or whole in one column."""

    record: t.DdlogType
    constructor: Constructor | None
    names: tuple[str, ...]
    types: tuple[t.DdlogType, ...]
    columns: ProgramColumns

    @property
    def schema(self) -> Schema:
        """The columns of the rows."""
        pairs = zip(self.names, self.types, strict=True)
        return Schema(tuple(Column(name, self.columns.type(type_)) for name, type_ in pairs))

    @cached_property
    def _writing(self) -> tuple[Callable[[Any], Any], ...]:
        return tuple(map(self.columns.writing, self.types))

    @cached_property
    def _reading(self) -> tuple[Callable[[Any], Any], ...]:
        return tuple(map(self.columns.reading, self.types))

    def row(self, record: Any) -> tuple[Any, ...]:
        """Return the row of a record."""
        values = (record,) if self.constructor is None else record.fields
        return tuple(write(value) for write, value in zip(self._writing, values, strict=True))

    def of_row(self, row: tuple[Any, ...]) -> Any:
        """Return the record of a row."""
        values = tuple(read(value) for read, value in zip(self._reading, row, strict=True))
        return values[0] if self.constructor is None else Struct(self.constructor, values)
