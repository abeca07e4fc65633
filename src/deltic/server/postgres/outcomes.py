"""Results of statements, which the connection sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltic.server.postgres.copying import CopyOptions
from deltic.server.postgres.types import Field, fields_of
from deltic.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

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
        """The rows of a table, in PostgreSQL's types for those of its columns."""
        return cls(fields_of(Schema.of_arrow(table.schema)), table, tag)


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


Outcome = Done | ResultRows | CopyIn | CopyOut | FollowedView
