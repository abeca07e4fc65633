"""The parts of a catalog: tables, views, and the circuits that define the views."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from deltic.catalog.external import External
from deltic.catalog.lateness import ColumnStorage, Lateness
from deltic.catalog.words import Words
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit
from deltic.circuit.inlining import inline
from deltic.circuit.operators import Call, Source
from deltic.circuit.tables import WEIGHT, watermark_of
from deltic.errors import CatalogError, did_you_mean
from deltic.values.types import Column, Schema, Type

_WORD = r"[A-Za-z_?][A-Za-z0-9_?]*"
_NAME = re.compile(rf"{_WORD}(\.{_WORD})*")


@dataclass(frozen=True)
class FixedValue:
    """A value that all rows have in a column, as rows have it; None for NULL."""

    value: Any


@dataclass(frozen=True)
class FormerTable:
    """What a table was before it was altered, and what each of its columns is: a column of that, or one value."""

    table: CatalogTable
    columns: tuple[str | FixedValue, ...]


@dataclass(frozen=True)
class CatalogTable:
    """An input relation: a set, or a bag where rows may occur several times.

    `key` are the columns that identify its rows, none where no key was declared; the pipeline rejects rows of one key.
    `lateness` says how late its rows may come, where it is bounded; `storing` how SQL stores values in some columns.
    `text` is its declaration as written, if in SQL, and `place` where it was declared. A hidden one serves views alone,
    and the pipeline itself changes it; one with a `source` is changed by refreshes alone. `former` is the table before
    it was altered. Raises CatalogError for a name, a column or a key that no table can have.
    """

    name: str
    schema: Schema
    key: tuple[str, ...] = ()
    is_bag: bool = False
    is_hidden: bool = False
    lateness: Lateness | None = None
    storing: tuple[ColumnStorage, ...] = ()
    place: str = field(default="", compare=False)
    text: str = field(default="", compare=False)
    source: External | None = field(default=None, compare=False)
    former: FormerTable | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_columns(self.name, self.schema)
        self._check_key()
        if self.lateness is not None:
            self.lateness.check(self.name, self.schema)

    @property
    def type(self) -> ZSetType:
        """What a definition that reads the table may rely on."""
        collations = tuple((one.column, one.collation) for one in self.storing if one.collation)
        return ZSetType(self.schema, not self.is_bag, collations=collations)

    @property
    def key_schema(self) -> Schema:
        """The columns of the key, in key order."""
        return self.schema.part(self.key)

    @property
    def watermark(self) -> CatalogTable | None:
        """The hidden table whose one row is the watermark; None where rows are never late.

        Where the time is no part of the key the table keeps all rows, since a key may be compared with any of them.
        """
        if self.lateness is None:
            return None
        column = Column(self.lateness.column, self.schema.types[self.lateness.column])
        is_whole = bool(self.key) and column.name not in self.key
        return CatalogTable(watermark_of(self.name, is_whole=is_whole), Schema((column,)), is_hidden=True)

    def _check_key(self) -> None:
        for name in self.key:
            column = next((c for c in self.schema if c.name == name), None)
            if column is None:
                hint = did_you_mean(name, self.schema.names) or f"the columns are {self.schema}"
                raise CatalogError(f"table {self.name}: its key has no column {name!r}; {hint}")
            if column.nullable:
                raise CatalogError(
                    f"table {self.name}: column {name} of its key may be NULL; a key has a value in every row: "
                    f"declare {name} as {column.type}"
                )
        if len(set(self.key)) != len(self.key):
            raise CatalogError(f"table {self.name}: its key names a column twice: {', '.join(self.key)}")
        if self.key and self.is_bag:
            raise CatalogError(
                f"table {self.name}: it has a key, so no row can occur twice: leave out the key or bag=True"
            )

    def __str__(self) -> str:
        key = f" key ({', '.join(self.key)})" if self.key else ""
        late = f" lateness ({self.lateness.column} {self.lateness.shown(self.schema)})" if self.lateness else ""
        source = f" from {self.source}" if self.source else ""
        return f"table {self.name}{self.schema}{key}{' bag' if self.is_bag else ''}{late}{source}"


@dataclass(frozen=True)
class CatalogView:
    """A relation that a definition derives. A hidden one serves other definitions and cannot be read.

    On `demand` only demanded rows are derived: always, never, or where it pays (None). `text` is its definition as
    written, and `place` where; `rules` are the texts and places of the parts of its union, in their order.
    """

    name: str
    type: ZSetType
    is_hidden: bool = False
    demand: bool | None = field(default=None, kw_only=True)
    text: str = field(default="", compare=False)
    place: str = field(default="", compare=False)
    rules: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.type.schema

    def __str__(self) -> str:
        kind = "hidden view" if self.is_hidden else "view"
        return f"{kind} {self.name}{self.schema}{'' if self.type.is_set else ' bag'}"


@dataclass(frozen=True)
class ViewDefinitions:
    """Views that are defined together, such as mutually recursive ones.

    The sources of `circuit` are relations of the catalog by their names, its sinks are the views. A source called as
    one of the views is the table of that name, whose rows the view has too.
    """

    views: tuple[CatalogView, ...]
    circuit: Circuit
    words: Words | None = field(default=None, compare=False, repr=False)
    """The user's words for columns and expressions of the circuit, if it has other names for them."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The views' names."""
        return tuple(view.name for view in self.views)

    @cached_property
    def sources(self) -> dict[str, ZSetType]:
        """The relations that it reads, with their edge types."""
        return {op.name: ZSetType(op.schema, op.is_set) for op in self.circuit.operators if isinstance(op, Source)}

    @cached_property
    def call(self) -> Call:
        """The circuit as an operator."""
        return Call(self.circuit)

    @cached_property
    def inlined(self) -> Circuit:
        """The circuit without calls."""
        return inline(self.circuit)

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The tables, and the relations of other definitions, that it reads."""
        return tuple(name for name in self.sources if name not in self.names)


@dataclass(frozen=True)
class FrontEndDefinitions:
    """All definitions of one front end; `front` is its name in messages.

    `order` has the views in the order in which they were declared, where that is another than that of the definitions.
    """

    front: str
    tables: Sequence[CatalogTable] = ()
    definitions: Sequence[ViewDefinitions] = ()
    order: Sequence[str] = ()

    @property
    def views(self) -> list[CatalogView]:
        """The views in the order of their declarations."""
        views = {view.name: view for definition in self.definitions for view in definition.views}
        return [views[name] for name in self.order or views]

    @cached_property
    def names(self) -> frozenset[str]:
        """The relations of the part."""
        return frozenset([t.name for t in self.tables] + [name for d in self.definitions for name in d.names])


def check_name(name: str) -> None:
    """Raise CatalogError for an invalid name of a table or view."""
    if not _NAME.fullmatch(name):
        raise CatalogError(f"{name!r} cannot be a name: names have letters from A to Z, digits, `_` and `?`")


def check_columns(name: str, schema: Schema) -> None:
    """Raise CatalogError for an invalid column of a table or view."""
    if WEIGHT in schema.names:
        raise CatalogError(f"{name}: {WEIGHT} cannot be a column; changes have a column of that name")


CLOCK = CatalogTable("current_timestamp", Schema.of(now=Type.TIMESTAMP), is_hidden=True)
"""It is there where a view reads it, and no row of it is there before the first epoch."""
