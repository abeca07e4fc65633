"""Rows that tasks have written where shards read them: a batch of which the driver has names and counts alone.

A task over a part of a DataFrame, or of any other rows in batches of Arrow, makes them rows of the table, splits them
by shard and writes them as letters, a file at a time. An epoch that is a job hands the letters on; one in this process
reads them. A task that runs twice writes other files, of which nobody hears: all of them stand in a folder of their
own, which goes with the batch.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4
from weakref import finalize

import pyarrow as pa

from deltic.circuit.types import Schema
from deltic.engine.conflicts import joined
from deltic.engine.files.files import Files, files_at
from deltic.engine.protocol import WEIGHT
from deltic.engine.shards.exchange import parcels
from deltic.engine.shards.files import LETTERS, writing
from deltic.engine.shards.letters import DRIVER, Letter, Mailbox, sent
from deltic.engine.shards.plan import Key
from deltic.errors import DelticError

Read = Callable[[pa.Table], tuple[pa.Table, Any]]
"""Makes rows of a table, with weights, of those of a source, and tells something about them; raises DelticError."""

# The bytes of rows that a task has in memory before it writes them, and those of its last ones that need no file.
_MANY, _FEW = 1 << 25, 1 << 15


@dataclass(frozen=True)
class Site:
    """Where tasks write rows of a table: files of their own, that all shards see, and how shards split the rows."""

    files: Files
    target: str
    schema: Schema
    key: Key
    shards: int

    def task(self, read: Read) -> Posting:
        """What writes rows there."""
        return Posting(self.files.place, self.target, self.key, self.shards, read)


@dataclass
class _Told:
    """What a task says of the rows that it has written."""

    rows: int = 0
    about: list[Any] = field(default_factory=list)
    """What was told of them, part by part."""
    error: DelticError | None = None


@dataclass(frozen=True)
class Posting:
    """A task that writes rows for the shards; see `Site`. Its letters are for the driver, with where the rows are."""

    directory: str
    target: str
    key: Key
    shards: int
    read: Read

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Letter]:
        told = _Told()
        try:
            files = files_at(self.directory)
            for part in _parts(batches):
                rows, about = self.read(part)
                told.rows += len(rows)
                told.about.append(about)
                yield from sent(files, list(parcels(self.target, rows, self.key, self.shards)), 0, _FEW // self.shards)
        except DelticError as error:
            told.error = error
        yield Letter(0, DRIVER, "", pickle.dumps(told))


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches, so many of them together as go well into one file."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.nbytes for each in waiting) >= _MANY:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


class Posted:
    """Rows of a table with weights that stand in letters; their folder goes with it."""

    def __init__(self, site: Site, letters: Iterable[Letter]) -> None:
        """Of what tasks have told; raises the error of one."""
        finalize(self, site.files.clear)
        found = list(letters)
        told: list[_Told] = [pickle.loads(letter.content) for letter in found if letter.stage == DRIVER]
        if errors := [each.error for each in told if each.error is not None]:
            raise joined(errors)
        self.letters: Sequence[Letter] = [letter for letter in found if letter.stage != DRIVER]
        self.about = [about for each in told for about in each.about]
        """What was told of the rows, part by part."""
        self._site, self._rows = site, sum(each.rows for each in told)

    def count(self) -> int:
        """The number of rows, weights apart."""
        return self._rows

    def parts(self) -> Iterator[pa.Table]:
        """The rows, letter by letter."""
        for letter in self.letters:
            if self._site.key is not None or letter.shard == 0:
                yield Mailbox(self._site.files).rows(letter)

    def to_arrow(self) -> pa.Table:
        """The rows, with a column WEIGHT; of what stands in files so much is in memory as somebody looks at."""
        fields = self._site.schema.to_arrow().append(pa.field(WEIGHT, pa.int64(), nullable=False))
        return pa.concat_tables([fields.empty_table(), *self.parts()])

    def is_for(self, target: str, key: Key, shards: int) -> bool:
        """Whether the rows are split as a placed relation is."""
        return (self._site.target, self._site.key, self._site.shards) == (target, key, shards)

    def handed_to(self, files: Files) -> Iterator[Letter]:
        """The letters, whose files are among others then: linked, or copied by the store. Raises StateError."""
        names: dict[str, str] = {}
        with writing(files):
            for letter in self.letters:
                if letter.file and letter.file not in names:
                    names[letter.file] = f"{LETTERS}/{uuid4().hex}"
                    files.adopt(self._site.files, letter.file, names[letter.file])
                yield replace(letter, file=names[letter.file]) if letter.file else letter
