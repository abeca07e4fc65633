"""The protocol of sources: a source computes how the rows of a table have changed since it was last read.

A source may have columns that its table does not have. With the option `new_columns`, "ignore" leaves them out; "add"
adds them to the table, NULL in older rows; "refuse" refuses the rows that have them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from deltic.catalog import CatalogTable, External
from deltic.circuit.tables import WEIGHT
from deltic.engine.image import Json
from deltic.engine.keyed import MOST, Numbers
from deltic.errors import CatalogError, DataError, Diagnostic, count_of
from deltic.passwords import revealed
from deltic.pipeline.connectors.places import place_at, reason_of
from deltic.pipeline.io.layout import FileKind
from deltic.pipeline.io.locate import form_of
from deltic.pipeline.io.parsed import arrow_schema
from deltic.pipeline.io.rounding import RoundedValues, Rounding
from deltic.pipeline.rows.coerce import to_table
from deltic.values.types import Column, Schema

if TYPE_CHECKING:
    from deltic.engine.executors.shards.staged_rows import StagedRows
    from deltic.engine.version import Version


@dataclass(frozen=True)
class HeldRows:
    """The rows of a table in a version."""

    version: Version
    table: str

    def __call__(self) -> pa.Table:
        """Return all rows, in memory."""
        return self.version.read(self.table, table=True)

    @property
    def rows(self) -> int:
        """The number of entries."""
        return self.version.entries(self.table)

    @property
    def is_empty(self) -> bool:
        """Return whether there are none."""
        return not self.rows


@dataclass(frozen=True)
class SourceChange:
    """The changes of a source."""

    changes: pa.Table | StagedRows
    """Rows of the table with weights, or with marks in their place (`deltic.pipeline.io.layout`)."""
    position: Json
    """The position after these changes."""
    how: str
    """What was done: "changed files", "change feed", "compared" and so on."""
    read: int = 0
    """The number of rows that were read."""
    files: int = 0
    bytes: int = 0
    """The bytes of files that were read."""
    done: Callable[[], None] = field(default=lambda: None, compare=False)
    """Called once the changes are committed."""
    rounded: Mapping[str, RoundedValues] = field(default_factory=dict)
    """The rounded values by column."""

    @property
    def count(self) -> int:
        """The number of inserted and deleted rows, not counting weights."""
        return len(self.changes) if isinstance(self.changes, pa.Table) else self.changes.count()

    @property
    def inserted(self) -> int:
        """The number of inserted rows; with tasks, including those that are deleted in the same changes."""
        if not isinstance(self.changes, pa.Table):
            return self.changes.report.inserted
        return int(self._weights.clip(min=0).sum())

    @property
    def deleted(self) -> int:
        """The number of deleted rows."""
        if not isinstance(self.changes, pa.Table):
            return self.changes.report.deleted
        return -int(self._weights.clip(max=0).sum())

    @cached_property
    def _weights(self) -> Numbers:
        """The weights; 1 and -1 for insertions and deletions by key."""
        assert isinstance(self.changes, pa.Table)
        weights = np.asarray(self.changes.column(WEIGHT))
        return np.where(np.abs(weights) > MOST, np.sign(weights), weights)


class RowsOfSource:
    """Turns what a source has into rows of its table. With the option `coerce` it rounds values, and counts them."""

    def __init__(self, table: CatalogTable, place: External) -> None:
        self.table = table
        self._rounding = Rounding() if place.is_on("coerce") else None

    def __call__(self, rows: Any, signed: bool = False) -> pa.Table:
        """Return rows of the table, changes if `signed`. Raises DataError."""
        return to_table(self.table.name, self.table.schema, rows, signed, rounding=self._rounding)

    def taken(self) -> dict[str, RoundedValues]:
        """Return the counts, and begin again."""
        return {} if self._rounding is None else self._rounding.taken()


class ExternalSource(ABC):
    """External rows, which belong to one table."""

    def __init__(self, place: External) -> None:
        self._place, self._label = place, str(place)

    @abstractmethod
    def columns(self) -> Schema:
        """Return the columns, if the source knows them. CatalogError otherwise."""

    @abstractmethod
    def pending(self, position: Json) -> str:
        """Describe what `new` would read, without reading it."""

    def new_columns(self, table: CatalogTable, position: Json) -> dict[str, tuple[Column, str]]:
        """Return the columns of what `new` would read that the table lacks, with where each was seen first."""
        return new_columns(table, {self._label: self.columns()})

    @abstractmethod
    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        """Return the changes since a position, None at first; `held` returns the rows of the table.

        With `wants_all` everything is read and compared, whatever the position. Raises DataError if rows do not fit the
        table.
        """


def keyed(schema: Schema, key: Collection[str]) -> Schema:
    """Return the columns of a source; those of a key are never NULL."""
    return Schema(tuple(replace(c, nullable=c.nullable and c.name not in key) for c in schema))


def nothing(schema: Schema) -> pa.Table:
    """Return an empty change."""
    return arrow_schema(schema, signed=True).empty_table()


def filled(value: str) -> str:
    """Return an option with its password and environment variables filled in. Raises CatalogError."""
    try:
        return revealed(value)
    except KeyError as error:
        raise CatalogError(f"{value!r}: the environment has no variable {error.args[0]}") from None
    except ValueError:
        raise CatalogError(
            f"{value}: its password is not kept with the definitions; write ${{NAME}} in its place, a variable of the "
            "environment, or give the whole address again in this process, as the program or `attach` does"
        ) from None


def of_path(address: str) -> External:
    """Return the files or the Delta table at a path or an address, by the file names there.

    Raises CatalogError if they are ambiguous.
    """
    place = place_at(address)
    try:
        if place.is_delta():
            return External("delta", path=address)
        names = [name or address for name in place.stamps()]
    except OSError as error:
        raise CatalogError(f"{address}: {reason_of(error, address)}") from error
    for kind, delimiter in (form_of(Path(name)) for name in names):
        if kind is FileKind.TEXT and delimiter in (",", "\t"):
            return External("csv", path=address, **({} if delimiter == "," else {"delimiter": delimiter}))
        if kind is not None and kind is not FileKind.TEXT:
            return External(kind.value, path=address)
    raise CatalogError(f"{address}: its kind is unknown; name it, as in External('parquet', path={address!r})")


Fields: TypeAlias = Mapping[str, Schema]
"""The columns of what is read next, by the name of the file or table in messages."""


def new_columns(table: CatalogTable, fields: Fields, optional: Collection[str] = ()) -> dict[str, tuple[Column, str]]:
    """Return the columns that a table does not have, nullable, each with where it was seen first.

    Raises DataError where two files disagree on the type of one, or lack a column of the table that is not `optional`.
    """
    result: dict[str, tuple[Column, str]] = {}
    for place, schema in fields.items():
        for name in table.schema.names:
            if name not in schema.names and name not in optional:
                raise DataError([Diagnostic(f"table {table.name}: column {name} is missing", place)])
        for column in schema:
            if column.name in table.schema.names:
                continue
            known, first = result.setdefault(column.name, (replace(column, nullable=True), place))
            if known.type != column.type:
                message = f"the new column {column.name} is {column.type}, and {known.type} in {first}"
                raise DataError([Diagnostic(f"table {table.name}: {message}", place)])
    return result


def refused(table: CatalogTable, found: Mapping[str, tuple[Column, str]]) -> DataError:
    """Return the error for columns that a table does not have."""
    hint = f"new_columns='add' adds it to {table.name}, 'ignore' leaves it out"
    return DataError(
        [
            Diagnostic(f"table {table.name}: there is a new column {column.name} ({column.type})", place, hint=hint)
            for column, place in found.values()
        ]
    )


@dataclass(frozen=True)
class SourceReport:
    """What a refresh has read of a source."""

    how: str
    """What was read: "3 files read, 1 taken back", "compared" and so on."""
    rows_read: int
    files_read: int
    bytes_read: int
    inserted: int
    """The number of inserted rows; with tasks, including those that are also deleted."""
    deleted: int
    seconds: float
    rounded: Mapping[str, RoundedValues] = field(default_factory=dict)
    """The values that the option `coerce` has rounded, by column."""

    def __str__(self) -> str:
        files = f" of {count_of(self.files_read, 'file')}, {self.bytes_read:,} bytes" if self.files_read else ""
        rounded = "".join(f"; {column}: {each}" for column, each in self.rounded.items())
        return f"{self.how}: {count_of(self.rows_read, 'row')}{files}, +{self.inserted:,} −{self.deleted:,}{rounded}"
