"""The protocol of targets: a target is an external place for the rows of a view, as of an epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from deltic.errors import count_of
from deltic.values.types import Schema


@dataclass(frozen=True)
class TargetMark:
    """A target's description of itself: the epoch of its rows, and a stamp that the state also has.

    A stamp is in the log of its epoch before anything is published under it. So a target with the state's stamp has the
    rows of this state; any other target is compared.
    """

    stamp: str
    epoch: int


@dataclass(frozen=True)
class PublishedView:
    """A view as of an epoch: its columns, and all of its rows on demand."""

    name: str
    schema: Schema
    mark: TargetMark
    rows: Callable[[], pa.Table]
    is_doubtful: bool = False
    """Whether the target's contents must be checked, and not only its description."""


@dataclass(frozen=True)
class PublishedRows:
    """What was published."""

    how: str
    """What was done: "changed files", "compared" and so on."""
    rows: int = 0
    """The rows that were written, including unchanged rows of rewritten files."""
    files: int = 0
    bytes: int = 0
    kept: int = 0
    """The files that stayed."""
    read: int = 0
    """The bytes of the target's files that were read."""

    def __str__(self) -> str:
        rows = count_of(self.rows, "row")
        if not self.files and not self.kept:
            return f"{self.how}: {rows}"
        files = f"{count_of(self.files, 'file')}, {self.bytes:,} bytes"
        return f"{self.how}: {rows} in {files}; {count_of(self.kept, 'file')} kept"


class ViewTarget(Protocol):
    """A place for the rows of one view. After an error or a crash, it has the old rows or the new ones."""

    def mark(self) -> TargetMark | None:
        """Return its description; None if nothing was published yet. DelticError if a path has something else."""

    def publish(self, shown: PublishedView, delta: pa.Table | None) -> PublishedRows:
        """Write the rows of a view, of which `delta` is the change since its mark; None if that is unknown."""
