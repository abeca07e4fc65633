"""What a target is: a place outside where the rows of a view are, as of an epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from deltic.values.types import Schema


@dataclass(frozen=True)
class TargetMark:
    """What a target says of itself: the epoch that its rows are of, and a stamp that the state has, too.

    A stamp is in the log with the epoch that it is of, before anything is published under it. So a target whose stamp
    is the one in the state has the rows of just this state; what another one has is found out by comparing.
    """

    stamp: str
    epoch: int


@dataclass(frozen=True)
class PublishedView:
    """A view as of an epoch: its columns, and all of its rows when they are asked for."""

    name: str
    schema: Schema
    mark: TargetMark
    rows: Callable[[], pa.Table]
    is_doubtful: bool = False
    """Whether what a target has is to be looked at, and not only what it says that it has."""


@dataclass(frozen=True)
class PublishedRows:
    """What was published."""

    how: str
    """What was done: "changed files", "compared" and the like."""
    rows: int = 0
    """Rows that were written, of files those that did not change with them."""
    files: int = 0
    bytes: int = 0
    kept: int = 0
    """Files that stayed as they were."""
    read: int = 0
    """Bytes of files of the target that were read."""

    def __str__(self) -> str:
        if not self.files and not self.kept:
            return f"{self.how}: {self.rows:,} rows"
        return f"{self.how}: {self.rows:,} rows in {self.files:,} files, {self.bytes:,} bytes; {self.kept:,} files kept"


class ViewTarget(Protocol):
    """A place for the rows of one view; after an error, or a crash, it has them as before, or as they are to be."""

    def mark(self) -> TargetMark | None:
        """Its own description; None where nothing was published yet."""

    def publish(self, shown: PublishedView, delta: pa.Table | None) -> PublishedRows:
        """Let it have the rows of a view, of which `delta` is the change since its mark; None where that is unknown."""
