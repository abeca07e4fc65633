"""What a source is: it finds how the rows of a table differ from what was read of it before."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from deltic.catalog import CatalogTable, External
from deltic.circuit.tables import WEIGHT
from deltic.engine.image import Json
from deltic.engine.keyed import MOST
from deltic.engine.numbering import Numbers
from deltic.errors import CatalogError
from deltic.passwords import revealed
from deltic.pipeline.connectors.places import place_at
from deltic.pipeline.io.locate import extension
from deltic.pipeline.io.parsed import arrow_schema
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.engine.executors.shards.staged_rows import StagedRows
    from deltic.engine.version import Version

_ENDINGS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".arrow": "arrow"}


@dataclass(frozen=True)
class HeldRows:
    """The rows that a table has in a version."""

    version: Version
    table: str

    def __call__(self) -> pa.Table:
        """All of them, in memory."""
        return self.version.read(self.table, table=True)

    @property
    def rows(self) -> int:
        """How many entries they are."""
        return self.version.entries(self.table)

    @property
    def is_empty(self) -> bool:
        """Whether there is none."""
        return not self.rows


@dataclass(frozen=True)
class SourceChange:
    """What is new in a source."""

    changes: pa.Table | StagedRows
    """Rows of the table with weights, or with what stands in their place (`deltic.pipeline.io.signs`)."""
    position: Json
    """How far the source is read with these."""
    how: str
    """What was done: "changed files", "change feed", "compared" and the like."""
    read: int = 0
    """How many rows were read."""
    files: int = 0
    bytes: int = 0
    """What was read of files."""
    done: Callable[[], None] = field(default=lambda: None, compare=False)
    """Is called once the changes are committed."""

    @property
    def count(self) -> int:
        """How many rows come and go, weights apart."""
        return len(self.changes) if isinstance(self.changes, pa.Table) else self.changes.count()

    @property
    def inserted(self) -> int:
        """How many rows come; of what tasks have written also those that go in the same changes."""
        if not isinstance(self.changes, pa.Table):
            return self.changes.report.inserted
        return int(self._weights.clip(min=0).sum())

    @property
    def deleted(self) -> int:
        """How many rows go."""
        if not isinstance(self.changes, pa.Table):
            return self.changes.report.deleted
        return -int(self._weights.clip(max=0).sum())

    @cached_property
    def _weights(self) -> Numbers:
        """The weights; 1 and -1 for rows that come and go by their keys."""
        assert isinstance(self.changes, pa.Table)
        weights = np.asarray(self.changes.column(WEIGHT))
        return np.where(np.abs(weights) > MOST, np.sign(weights), weights)


class ExternalSource(Protocol):
    """Rows outside that are those of one table."""

    def columns(self) -> Schema:
        """The columns, where the source knows them; raises CatalogError where it does not."""

    def pending(self, position: Json) -> str:
        """What `new` would read, for people; nothing of it is read."""

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        """What is new since a position, None before the first one; `held` gives the rows of the table.

        With `wants_all` everything is read and compared, whatever the position. Raises DataError where rows are
        not those of the table.
        """


def keyed(schema: Schema, key: Collection[str]) -> Schema:
    """The columns of a source, where those of a key are never NULL."""
    return Schema(tuple(replace(c, nullable=c.nullable and c.name not in key) for c in schema))


def nothing(schema: Schema) -> pa.Table:
    """No changes."""
    return arrow_schema(schema, signed=True).empty_table()


def filled(value: str) -> str:
    """An option with its password, and the variables of the environment that it names; raises CatalogError."""
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
    """The files or the Delta table at a path or an address, by the names there.

    Raises CatalogError where they do not tell.
    """
    place = place_at(address)
    try:
        if place.is_delta():
            return External("delta", path=address)
        names = [name or address for name in place.stamps()]
    except OSError as error:
        raise CatalogError(f"{address}: it cannot be read: {error.strerror or error}") from error
    kind = next((kind for name in names if (kind := _ENDINGS.get(extension(Path(name))))), None)
    if kind is None:
        raise CatalogError(f"{address}: its kind is unknown; name it, as in External('parquet', path={address!r})")
    return External(kind, path=address)
