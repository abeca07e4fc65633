"""Rows that tasks have written for shards to read. The driver only has their file names and counts.

A task over a part of a DataFrame, or of any other rows, converts them to rows of the table, splits them by shard and
writes them as messages, one file at a time. An epoch that is a job passes the messages on; one in this process reads
them. A task that runs twice writes other files, which nothing refers to. All files of a batch are in a folder of their
own, which is removed with the batch. The log of a state keeps the files that messages name.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self
from uuid import uuid4
from weakref import finalize

import numpy as np
import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.conflicts import joined
from deltic.engine.executors.shards.exchange import messages_of
from deltic.engine.executors.shards.files import MESSAGES, writing
from deltic.engine.executors.shards.messages import DRIVER, LOST, Mailbox, Message, sent
from deltic.engine.executors.shards.plan import Key
from deltic.engine.files.address import files_at
from deltic.engine.files.files import Files
from deltic.engine.keyed import MOST, ORDER
from deltic.errors import DelticError, StateError
from deltic.values.types import Schema

Read = Callable[[pa.Table], tuple[pa.Table, Any]]
"""Converts rows of a source to rows of a table with weights, and describes them. Raises DelticError."""

# The bytes of rows that a task buffers before it writes them, and the size up to which the last ones need no file.
_MANY, _FEW = 1 << 25, 1 << 15


@dataclass(frozen=True)
class RowSplit:
    """How rows are split: for which placed relation, by which key, among how many shards."""

    target: str
    key: Key
    shards: int
    by: tuple[int, ...] = ()
    """The columns of the table's key, if rows may be changes by key instead of having weights."""


@dataclass(frozen=True)
class StagingArea:
    """A place for the rows of a table that tasks write: files that all shards see, and how rows are split by shard."""

    files: Files
    schema: Schema
    split: RowSplit
    keys: tuple[int, ...] = ()
    """The columns of the table's key, if all rows with one key are on one shard."""
    is_ordered: bool = False
    """Whether the rows have ORDER."""

    @property
    def has_keys(self) -> bool:
        """Return whether rows may be changes by key."""
        return bool(self.keys)

    def by_key(self, is_ordered: bool) -> StagingArea:
        """Return the same area for rows that may be changes by key."""
        return replace(self, split=replace(self.split, by=self.keys), is_ordered=is_ordered)

    @property
    def nothing(self) -> pa.Table:
        """The empty table with the columns of the rows and weights."""
        names = [WEIGHT, ORDER] if self.is_ordered else [WEIGHT]
        numbers = [pa.field(name, pa.int64(), nullable=False) for name in names]
        return pa.schema([*self.schema.to_arrow(), *numbers]).empty_table()

    @property
    def posting(self) -> StagedWriter:
        """The writer of rows in this area."""
        return StagedWriter(self.files.place, self.split)


@dataclass
class WriteReport:
    """The reports of tasks about the rows that they wrote."""

    rows: int = 0
    inserted: int = 0
    """The numbers of inserted and of deleted rows, each counted as often as its weight."""
    deleted: int = 0
    read: int = 0
    """The bytes of files that were read and written."""
    written: int = 0
    about: list[Any] = field(default_factory=list)
    """The descriptions of the rows, part by part."""
    errors: list[DelticError] = field(default_factory=list)

    def noted(self, rows: pa.Table, about: Any) -> pa.Table:
        """Count rows with weights, record their description, and return them."""
        weights = np.asarray(rows.column(WEIGHT))
        self.rows += len(weights)
        weights = np.where(np.abs(weights) > MOST, np.sign(weights), weights)
        self.inserted += int(weights.clip(min=0).sum())
        self.deleted -= int(weights.clip(max=0).sum())
        self.about.append(about)
        return rows

    def include(self, other: WriteReport) -> None:
        """Add the report of another task."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True)
class StagedWriter:
    """Writes rows for the shards, in a task; see `StagingArea`."""

    directory: str
    split: RowSplit

    def over(self, batches: Iterable[pa.RecordBatch], read: Read) -> Iterator[Message]:
        """Write the rows that `read` makes of batches, and yield the messages for the driver that locate them."""
        return self.of(lambda files: map(read, _together(map(pa.Table.from_batches, ([each] for each in batches)))))

    def of(self, parts: Callable[[Files], Iterable[tuple[pa.Table, Any]]]) -> Iterator[Message]:
        """Write rows in parts, each with its description, like `over`. Whoever makes the parts may also write files."""
        report, split, few = WriteReport(), self.split, _FEW // self.split.shards
        try:
            files = files_at(self.directory)
            for rows in _together(report.noted(rows, about) for rows, about in parts(files)):
                yield from sent(files, list(messages_of(split.target, rows, split.key, split.shards)), 0, few)
            report.read, report.written = files.traffic.read, files.traffic.written
        except DelticError as error:
            report.errors.append(error)
        yield Message(0, DRIVER, "", pickle.dumps(report))


def _together(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Concatenate parts up to the size of a file. Empty parts are dropped."""
    waiting, size = list[pa.Table](), 0
    for part in filter(len, parts):
        waiting.append(part)
        size += part.nbytes
        if size >= _MANY:
            yield pa.concat_tables(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


class MessageBatch:
    """Rows of a table with weights in messages; `nothing` is the empty table with their columns.

    `remedy` is the advice in errors about unreadable files.
    """

    def __init__(
        self,
        files: Files,
        split: RowSplit,
        messages: Sequence[Message],
        rows: int,
        nothing: pa.Table,
        remedy: str = LOST,
    ) -> None:
        self.files, self.split, self.messages, self.nothing = files, split, messages, nothing
        self._rows, self._remedy = rows, remedy

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the table's key, if rows may be changes by key."""
        return tuple(self.nothing.column_names[column] for column in self.split.by)

    def count(self) -> int:
        """Return the number of rows, not counting weights."""
        return self._rows

    def __reduce__(self) -> Any:
        """Pickle the batch for a task, which sees its files under the same name."""
        return _received, (self.files.place, self.split, self.messages, self._rows, self.nothing, self._remedy)

    def of_shard(self, number: int) -> MessageBatch:
        """Return the rows of one shard."""
        messages = [message for message in self.messages if message.shard == number]
        return MessageBatch(self.files, self.split, messages, self._rows, self.nothing, self._remedy)

    @property
    def named(self) -> list[str]:
        """The names of the files with rows."""
        return list(dict.fromkeys(message.file for message in self.messages if message.file))

    @property
    def nbytes(self) -> int:
        """The size of the rows in files, in bytes."""
        return sum({(message.file, message.start): message.size for message in self.messages}.values())

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows, message by message. StateError if a file is damaged."""
        for message in self.messages:
            if self.split.key is not None or message.shard == 0:
                yield Mailbox(self.files, self._remedy).rows(message)

    def to_arrow(self) -> pa.Table:
        """Return the rows, with a column WEIGHT."""
        return pa.concat_tables([self.nothing, *self.parts()])

    def adopted(self, files: Files, prefix: str, remedy: str = LOST) -> MessageBatch:
        """Return the same rows in files of another place, under new names: linked, or copied by the store, if possible.

        Raises OSError, and StateError if a file is gone.
        """
        names = {name: f"{prefix}{uuid4().hex}" for name in self.named}
        for old, new in names.items():
            try:
                files.adopt(self.files, old, new)
            except FileNotFoundError as error:
                place = self.files.place
                reason = f"it cannot be read ({error.strerror}); {self._remedy.format(place=place)}"
                raise StateError(f"state {place}: {old}: {reason}") from None
        messages = [replace(message, file=names.get(message.file, "")) for message in self.messages]
        return MessageBatch(files, self.split, messages, self._rows, self.nothing, remedy)

    def handed_to(self, files: Files) -> Iterator[Message]:
        """Yield the messages, with their files added to those of an epoch. Raises StateError."""
        with writing(files):
            yield from self.adopted(files.passing(), f"{MESSAGES}/").messages


def _received(place: str, *rest: Any) -> MessageBatch:
    return MessageBatch(files_at(place), *rest)


class StagedRows(MessageBatch):
    """Rows that tasks have written in a staging area, whose folder is removed with them."""

    @classmethod
    def by(cls, site: StagingArea, run: Callable[[], Iterable[Message]]) -> Self:
        """Run tasks that write rows there. After an exception nothing is left."""
        try:
            messages = run()
        except BaseException:
            site.files.clear()
            raise
        return cls(site, messages)

    def __init__(self, site: StagingArea, messages: Iterable[Message]) -> None:
        """Read the tasks' messages. Raises the error of a failed task."""
        finalize(self, site.files.clear)
        result, self.report = list(messages), WriteReport()
        """The reports of the tasks about the rows."""
        for message in result:
            if message.stage == DRIVER:
                self.report.include(pickle.loads(message.content))
        if self.report.errors:
            raise joined(self.report.errors)
        there = [message for message in result if message.stage != DRIVER]
        super().__init__(site.files, site.split, there, self.report.rows, site.nothing)
