"""Results of statements, which the connection sends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.server.postgres.copying import CopyOptions
from deltic.server.postgres.types import INT8, Field, fields_of
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.pipeline.epochs.history import EpochChange
    from deltic.server.following import Follower


@dataclass(frozen=True)
class Done:
    """The result of a statement without rows: its command tag."""

    tag: str


@dataclass(frozen=True)
class ResultRows:
    """Rows; with `tag` and their number the statement is complete."""

    fields: Sequence[Field]
    table: pa.Table
    tag: str = "SELECT"

    @classmethod
    def of(cls, table: pa.Table, tag: str = "SELECT") -> ResultRows:
        """Return the rows of a table, in PostgreSQL's types for those of its columns."""
        return cls(fields_of(Schema.of_arrow(table.schema)), table, tag)

    @classmethod
    def of_texts(cls, columns: Mapping[str, Sequence[Any]], tag: str = "SELECT") -> ResultRows:
        """Return columns of texts."""
        return cls.of(pa.table({name: pa.array(list(values), pa.string()) for name, values in columns.items()}), tag)


@dataclass(frozen=True)
class CopyIn:
    """Rows are to come, for these columns of a table."""

    table: str
    fields: Sequence[Field]
    options: CopyOptions


@dataclass(frozen=True)
class CopyOut:
    """Rows that go out as a copy."""

    answer: ResultRows | FollowedView
    options: CopyOptions


@dataclass(frozen=True)
class FollowedView:
    """The changes of a view after an epoch; `rows` are those of the view as of that epoch, where they are wanted."""

    fields: Sequence[Field]
    follower: Follower
    epoch: int
    rows: pa.Table

    async def changes(self) -> AsyncIterator[pa.Table]:
        """Yield the first rows and then each change as it arrives, without end. Raises CutOffError."""
        yield self._begun()
        async for change in self.follower:
            yield _changed(change)

    def arrived(self, is_first: bool) -> pa.Table:
        """Return the changes that have arrived and were not returned yet. Raises CutOffError."""
        begun = self._begun()
        parts = [_changed(change) for change in self.follower]
        return pa.concat_tables([begun if is_first else begun.slice(0, 0), *parts])

    def _begun(self) -> pa.Table:
        return _with(self.epoch, pa.array(np.ones(len(self.rows), np.int64)), self.rows)


Outcome = Done | ResultRows | CopyIn | CopyOut | FollowedView


def followed(schema: Schema) -> list[Field]:
    """Return the columns of SUBSCRIBE: epoch, weight, and those of the view."""
    return [Field("epoch", INT8), Field("weight", INT8), *fields_of(schema)]


def _changed(change: EpochChange) -> pa.Table:
    rows = change.to_arrow()
    return _with(change.epoch, rows.column(WEIGHT), rows.drop_columns(WEIGHT))


def _with(epoch: int, weights: pa.Array | pa.ChunkedArray, rows: pa.Table) -> pa.Table:
    columns = [pa.array(np.full(len(rows), epoch, np.int64)), weights, *rows.columns]
    return pa.table(columns, names=["epoch", "weight", *rows.column_names])
