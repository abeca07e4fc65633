"""ALTER TABLE: the new definition of a table, and the source of each value of its rows.

An alteration is a value that makes a new CatalogTable whose `former` is the old one. Column names match in any case
where that is unambiguous. Each raises CatalogError where the table cannot be altered in this way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltic.catalog.definitions import CatalogTable, FixedValue, FormerTable
from deltic.catalog.lateness import ColumnStorage
from deltic.errors import CatalogError, did_you_mean
from deltic.immutable import Immutable
from deltic.values.types import Column, Kind, Schema, Type


class Alteration(Immutable, ABC):
    """One change of a table; `names` are the columns that it drops or renames, under their old names."""

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    @abstractmethod
    def applied(self, table: CatalogTable) -> CatalogTable:
        """Return the altered table."""


class AddColumn(Alteration):
    """A new column, with one `value` in all rows.

    It comes after the column `after`, first for "", last for None.
    """

    column: Column
    storing: ColumnStorage
    value: Any = None
    after: str | None = None
    unless_there: bool = False

    def applied(self, table: CatalogTable) -> CatalogTable:
        name = self.column.name
        if name.lower() in {other.lower() for other in table.schema.names}:
            if self.unless_there:
                return table
            raise CatalogError(f"table {table.name} has a column {name} already; choose another name", name)
        place = _place(table, self.after)
        columns = (*table.schema.columns[:place], self.column, *table.schema.columns[place:])
        sources: list[str | FixedValue] = list(table.schema.names)
        sources.insert(place, FixedValue(self.value))
        return _with(table, columns, sources, storing=(*table.storing, *_said(self.storing)))


class DropColumn(Alteration):
    """Drop a column."""

    name: str
    if_there: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def applied(self, table: CatalogTable) -> CatalogTable:
        if self.if_there and not _spelt(table, self.name):
            return table
        name = _find(table, self.name)
        if name in table.key:
            raise CatalogError(f"{table.name}.{name} is in the primary key; drop that first: DROP PRIMARY KEY", name)
        columns = tuple(column for column in table.schema if column.name != name)
        if not columns:
            raise CatalogError(f"{table.name}.{name} is the only column of the table; a table has at least one", name)
        storing = tuple(one for one in table.storing if one.column != name)
        return _with(table, columns, [column.name for column in columns], storing=storing)


class RenameColumn(Alteration):
    """Rename a column."""

    name: str
    to: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def applied(self, table: CatalogTable) -> CatalogTable:
        name = _find(table, self.name)
        if self.to.lower() in {other.lower() for other in table.schema.names if other != name}:
            raise CatalogError(f"table {table.name} has a column {self.to} already; choose another name", self.to)
        columns = _changed(table.schema, name, name=self.to)
        storing = tuple(replace(one, column=self.to) if one.column == name else one for one in table.storing)
        key = tuple(self.to if part == name else part for part in table.key)
        return _with(table, columns, table.schema.names, storing=storing, key=key)


class MoveColumn(Alteration):
    """Move a column after another one, or to the front for ""."""

    name: str
    after: str

    def applied(self, table: CatalogTable) -> CatalogTable:
        name = _find(table, self.name)
        if self.after and _find(table, self.after) == name:
            raise CatalogError(f"{table.name}.{name} cannot stand after itself", name)
        moved = table.schema.column(name)
        rest = [column for column in table.schema if column.name != name]
        place = [column.name for column in rest].index(_find(table, self.after)) + 1 if self.after else 0
        columns = (*rest[:place], moved, *rest[place:])
        return _with(table, columns, [column.name for column in columns])


class ChangeType(Alteration):
    """Give a column a wider type that has all of its values."""

    name: str
    type: Type
    storing: ColumnStorage

    def applied(self, table: CatalogTable) -> CatalogTable:
        name = _find(table, self.name)
        now, bound = table.schema.types[name], _storing(table, name)
        if not widens(now, self.type) or _narrows(bound, self.storing) or bound.collation != self.storing.collation:
            raise CatalogError(
                f"{table.name}.{name} is {_type_text(now, bound)}, whose values do not all fit "
                f"{_type_text(self.type, self.storing)}; add a column of that type, and UPDATE it",
                name,
            )
        storing = replace(bound, limit=self.storing.limit, fixed=self.storing.fixed)
        columns = _changed(table.schema, name, type=self.type)
        return _with(table, columns, table.schema.names, storing=_stored(table, storing))


class SetNullable(Alteration):
    """Let a column be NULL, or forbid it."""

    name: str
    nullable: bool

    def applied(self, table: CatalogTable) -> CatalogTable:
        name = _find(table, self.name)
        if self.nullable and name in table.key:
            raise CatalogError(f"{table.name}.{name} is in the primary key, which is never NULL", name)
        columns = _changed(table.schema, name, nullable=self.nullable)
        return _with(table, columns, table.schema.names)


class SetDefault(Alteration):
    """Set the default of a column, as a constant of SQL, "" for NULL; existing rows stay as they are."""

    name: str
    default: str

    def applied(self, table: CatalogTable) -> CatalogTable:
        name = _find(table, self.name)
        storing = replace(_storing(table, name), default=self.default)
        return _with(table, table.schema.columns, table.schema.names, storing=_stored(table, storing))


class SetKey(Alteration):
    """Set the key: a table with a key is a set, one without is a bag."""

    key: tuple[str, ...]

    def applied(self, table: CatalogTable) -> CatalogTable:
        if self.key and table.key:
            raise CatalogError(
                f"table {table.name} has the primary key ({', '.join(table.key)}) already; drop that first"
            )
        if not self.key and not table.key:
            raise CatalogError(f"table {table.name} has no primary key")
        key = tuple(_find(table, name) for name in self.key)
        columns = tuple(replace(c, nullable=c.nullable and c.name not in key) for c in table.schema)
        return _with(table, columns, table.schema.names, key=key, is_bag=not key)


class RenameTable(Alteration):
    """Rename the table."""

    to: str

    def applied(self, table: CatalogTable) -> CatalogTable:
        return _with(table, table.schema.columns, table.schema.names, name=self.to)


def altered(table: CatalogTable, alterations: Iterable[Alteration], by_source: bool = False) -> CatalogTable:
    """Return the table after these alterations, in order. Raises CatalogError for a table that cannot be altered.

    A table with a source is altered `by_source` alone.
    """
    result = table
    for alteration in alterations:
        if table.source is not None and not by_source:
            raise CatalogError(f"table {table.name} has the rows and columns of {table.source}")
        if table.lateness is not None and not isinstance(alteration, SetDefault):
            raise CatalogError(
                f"table {table.name} has a lateness, and what was computed of rows that are forgotten cannot be "
                "computed again; make another table"
            )
        result = alteration.applied(result)
    return result


def origin(table: CatalogTable, before: Mapping[str, CatalogTable]) -> FormerTable | None:
    """Return the old table that an altered one takes its rows from, and the source of each column.

    None where the table is unchanged or new.
    """
    columns: tuple[str | FixedValue, ...] = table.schema.names
    result = table
    while before.get(result.name) != result:
        if result.former is None:
            return None
        sources = dict(zip(result.schema.names, result.former.columns, strict=True))
        columns = tuple(sources[c] if isinstance(c, str) else c for c in columns)
        result = result.former.table
    return None if result is table else FormerTable(result, columns)


def widens(now: Type, then: Type) -> bool:
    """Return whether the second type has every value of the first."""
    if now is then:
        return True
    if now.is_integer and then.is_integer:
        return then.range[0] <= now.range[0] and now.range[1] <= then.range[1]
    if now.is_integer and then.kind is Kind.DECIMAL:
        return max(len(str(abs(end))) for end in now.range) <= then.precision - then.scale
    if now.is_integer and then.is_float:
        return now.bits <= {32: 16, 64: 32}[then.bits]
    if now.kind is Kind.DECIMAL and then.kind is Kind.DECIMAL:
        return now.scale <= then.scale and now.precision - now.scale <= then.precision - then.scale
    if now.is_float and then.is_float:
        return now.bits <= then.bits
    return now is Type.DATE and then is Type.TIMESTAMP_NTZ


def _changed(schema: Schema, which: str, **others: Any) -> list[Column]:
    """Return the columns of a schema with one replaced."""
    return [replace(column, **others) if column.name == which else column for column in schema]


def _with(
    table: CatalogTable, columns: Iterable[Column], sources: Sequence[str | FixedValue], **others: Any
) -> CatalogTable:
    """Return the table with other columns, without its text; `sources` has the source of each column."""
    former = FormerTable(table, tuple(sources))
    return replace(table, schema=Schema(tuple(columns)), former=former, text="", place="", **others)


def _spelt(table: CatalogTable, name: str) -> list[str]:
    if name in table.schema.names:
        return [name]
    return [other for other in table.schema.names if other.lower() == name.lower()]


def _find(table: CatalogTable, name: str) -> str:
    result = _spelt(table, name)
    if len(result) != 1:
        hint = did_you_mean(name, table.schema.names) or f"the columns are {', '.join(table.schema.names)}"
        raise CatalogError(f"table {table.name} has no column {name}; {hint}", name)
    return result[0]


def _place(table: CatalogTable, after: str | None) -> int:
    """Return the position after a column."""
    if after is None:
        return len(table.schema)
    return table.schema.index(_find(table, after)) + 1 if after else 0


def _storing(table: CatalogTable, name: str) -> ColumnStorage:
    return next((one for one in table.storing if one.column == name), ColumnStorage(name))


def _said(storing: ColumnStorage) -> tuple[ColumnStorage, ...]:
    """Return the storage rules without empty ones."""
    return () if storing == ColumnStorage(storing.column) else (storing,)


def _stored(table: CatalogTable, storing: ColumnStorage) -> tuple[ColumnStorage, ...]:
    return (*(one for one in table.storing if one.column != storing.column), *_said(storing))


def _narrows(now: ColumnStorage, then: ColumnStorage) -> bool:
    """Return whether existing texts could be too long for the new bound, or would lose blanks."""
    if then.fixed != now.fixed:
        return then.fixed
    return then.limit is not None and (now.limit is None or then.limit < now.limit)


def _type_text(type_: Type, storing: ColumnStorage) -> str:
    text = f"{type_}({storing.limit})" if storing.limit is not None else str(type_)
    return f"{text} collate {storing.collation}" if storing.collation else text
