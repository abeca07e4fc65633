"""Schemas: the types of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from deltic.lazy import pa
from deltic.values.types.value import Column, Type, ValueType


@dataclass(frozen=True)
class Schema:
    """The columns of a row, in order, with distinct names; a schema without columns is that of a nullary relation."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.columns):
            raise ValueError(f"a schema's column names must be distinct, found {', '.join(self.names)}")

    @classmethod
    def of(cls, **types: Type | ValueType) -> Schema:
        """Return a schema from keywords, in their order: ``Schema.of(x=Type.INT64, y=Type.STRING.or_null)``."""
        return cls(tuple(_column(name, type_) for name, type_ in types.items()))

    @classmethod
    def of_arrow(cls, schema: pa.Schema) -> Schema:
        """Return the schema of an Arrow table's rows; UnsupportedError for a type that has no counterpart."""
        from deltic.values.types.arrow import type_of_arrow

        return cls(tuple(Column(field.name, type_of_arrow(field.type), field.nullable) for field in schema))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> dict[str, Type]:
        """The type of each column by its name, in order."""
        return {column.name: column.type for column in self.columns}

    @property
    def value_types(self) -> dict[str, ValueType]:
        """The type and nullability of each column by its name, in order."""
        return {column.name: column.value_type for column in self.columns}

    def index(self, name: str) -> int:
        """Return the position of the column called `name`; KeyError when there is none."""
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(name) from None

    def column(self, name: str) -> Column:
        """Return the column called `name`; KeyError when there is none."""
        return self.columns[self.index(name)]

    def part(self, names: Iterable[str]) -> Schema:
        """Return the columns with these names, in their order."""
        return Schema(tuple(map(self.column, names)))

    def to_arrow(self) -> pa.Schema:
        """Return the Arrow schema of a table of such rows."""
        return self._arrow

    @cached_property
    def _arrow(self) -> pa.Schema:
        return pa.schema([pa.field(c.name, c.type.arrow, nullable=c.nullable) for c in self.columns])

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.columns)

    def __reduce__(self) -> tuple[type[Schema], tuple[tuple[Column, ...]]]:
        return Schema, (self.columns,)  # hashes of texts differ between processes

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __repr__(self) -> str:
        return "{" + ", ".join(map(str, self.columns)) + "}"


def _column(name: str, type_: Type | ValueType) -> Column:
    return Column(name, type_) if isinstance(type_, Type) else Column(name, type_.type, type_.nullable)
