"""The types of values, rows and edges of a circuit."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltic.circuit.words import word

if TYPE_CHECKING:
    import pyarrow as pa


class Type(enum.Enum):
    """The type of a column."""

    INT64 = "int64"
    UINT64 = "uint64"
    FLOAT64 = "float64"
    STRING = "string"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of this type."""
        import pyarrow as pa

        if self is Type.DATE:
            return pa.date32()
        if self is Type.TIMESTAMP:
            return pa.timestamp("us")
        return pa.type_for_alias("bool" if self is Type.BOOLEAN else self.value)

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined on this type."""
        return self in (Type.INT64, Type.UINT64, Type.FLOAT64)

    @property
    def is_integer(self) -> bool:
        """Whether the type is a 64-bit integer, signed or not."""
        return self in (Type.INT64, Type.UINT64)


@dataclass(frozen=True)
class Column:
    """A named, typed column of a schema."""

    name: str
    type: Type
    nullable: bool = False

    def __str__(self) -> str:
        return f"{word(self.name)}: {self.type.value}{'?' if self.nullable else ''}"


@dataclass(frozen=True)
class Schema:
    """The columns of a row, in order, with distinct names; none is allowed (the nullary relation)."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.columns):
            raise ValueError(f"a schema's column names must be distinct, found {', '.join(self.names)}")

    @classmethod
    def of(cls, **types: Type) -> Schema:
        """A schema from keywords, in their order: ``Schema.of(x=Type.INT64)``."""
        return cls(tuple(Column(name, type_) for name, type_ in types.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> dict[str, Type]:
        """The type of each column by its name, in order."""
        return {column.name: column.type for column in self.columns}

    def index(self, name: str) -> int:
        """The position of the column called `name`; KeyError when there is none."""
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(name) from None

    def to_arrow(self) -> pa.Schema:
        """The Arrow schema of a table of such rows."""
        import pyarrow as pa

        return pa.schema([pa.field(c.name, c.type.arrow, nullable=c.nullable) for c in self.columns])

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.columns)) + "}"


@dataclass(frozen=True)
class ZSetType:
    """An edge that carries Z-sets of rows of `schema`, streamed to nesting `depth`.

    `is_set` says that every weight is 0 or 1 at all times, by construction of the circuit.
    """

    schema: Schema
    is_set: bool = False
    depth: int = 0

    def __str__(self) -> str:
        return ("set" if self.is_set else "zset") + str(self.schema) + (f"^{self.depth}" if self.depth else "")


@dataclass(frozen=True)
class BundleType:
    """An edge that carries several named Z-sets at once, as the outputs of a fixpoint do [DBSP §9]."""

    entries: tuple[tuple[str, ZSetType], ...]

    def __str__(self) -> str:
        return "<" + ", ".join(f"{word(name)}: {type_}" for name, type_ in self.entries) + ">"


EdgeType = ZSetType | BundleType
