"""Folders of files as sources: the changes are the files that were added, removed or rewritten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.catalog import CatalogTable, External
from deltic.engine.batches import with_weights
from deltic.engine.comparing import difference
from deltic.engine.executors.shards.files import writing
from deltic.engine.image import Json
from deltic.errors import CatalogError, DataError, Diagnostic, count_of
from deltic.pipeline.connectors import tasks
from deltic.pipeline.connectors.copies import CopyWriter, FileCopies, copied
from deltic.pipeline.connectors.file_reader import (
    FileReader,
    arrow_schema_of_file,
    columns_of,
    named,
    reading,
    unreadable,
    with_nulls,
)
from deltic.pipeline.connectors.places import Stamps, place_at
from deltic.pipeline.connectors.source import ExternalSource, HeldRows, SourceChange, filled, new_columns, nothing
from deltic.pipeline.connectors.tasks import ReadUnit, Tasks
from deltic.pipeline.io.layout import FileKind
from deltic.pipeline.io.locate import natural
from deltic.pipeline.io.rounding import RoundedValues, Rounding
from deltic.progress import step_began
from deltic.values.types import Column, Schema, Type

if TYPE_CHECKING:
    from deltic.engine.executors.shards.staged_rows import StagedRows
    from deltic.engine.files.files import Files


class FolderSource(ExternalSource):
    """A folder of files with its sub-folders, or one file. Sub-folders such as `day=2026-11-22` provide a column.

    A position has each file with its stamp, and the locations of its rows' copies.
    """

    def __init__(self, place: External, copies: Callable[[], FileCopies], tasks: Tasks | None) -> None:
        super().__init__(place)
        self._copies, self._tasks = copies, tasks
        self._folder = place_at(filled(place["path"]))
        self._added: tuple[str, ...] = ()

    def columns(self) -> Schema:
        """Return the columns of the first file, and those of sub-folders, which are text."""
        kind = FileKind(self._place.kind)
        if kind is FileKind.TEXT and not self._place.is_on("headers"):
            raise CatalogError(
                f"{self._place}: csv files without a header have no column names; declare the columns, or "
                "write External(\"csv\", path=…, headers=True) in Python, OPTIONS (header 'true') in SQL"
            )
        first = next(iter(self._stamps()), None)
        if first is None:
            raise CatalogError(f"{self._place}: there is no file to read the columns from; declare them")
        return self._columns_of(first)

    def _columns_of(self, name: str) -> Schema:
        """Return the columns of a file and of its folders."""
        with reading(self._folder, name) as file:
            own = Schema.of_arrow(arrow_schema_of_file(file.path, FileKind(self._place.kind), self._place))
        given = [Column(column, Type.STRING, True) for column in columns_of(name) if column not in own.names]
        return Schema((*own, *given))

    def new_columns(self, table: CatalogTable, position: Json) -> dict[str, tuple[Column, str]]:
        if self._place.kind == "csv" and not self._place.is_on("headers"):
            raise CatalogError(f"{self._place}: new_columns is about the names in a header; write header 'true'")
        _, changed, _ = self._compared(position)
        fields = {named(self._folder, name): self._columns_of(name) for name in changed}
        found = new_columns(table, fields, (position or {}).get("added", ()))
        self._added = tuple(found)
        return found

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        now, changed, gone = self._compared(position)
        self._added = tuple(dict.fromkeys([*(position or {}).get("added", ()), *self._added]))
        if not changed and not gone and position is not None and not wants_all:
            return SourceChange(nothing(table.schema), position, "no file changed")
        before = {name: _copies_of(file) for name, file in position["files"].items()} if position else {}
        every = _News(table, now, list(now), [], None if held.is_empty else held)
        if position is None or wants_all:
            read = self._by_tasks(every)
        else:
            news = _News(table, now, changed, [before[name] for name in gone])
            read = self._by_tasks(news) or self._here(news) or self._by_tasks(every)
        if read is None:
            read = self._here(every)
            assert read is not None, "all files are read, and no copies"
        kept = {**before, **read.copies}
        files = {name: {"stamp": [*stamp], "copy": kept[name]} for name, stamp in now.items()}
        used, copies = {place["file"] for file in files.values() for place in file["copy"]}, self._copies()
        size, done = sum(now[name][0] for name in read.copies), lambda: copies.collect_garbage(used)
        counts = read.rows, len(read.copies), size
        after = {"files": files, **({"added": list(self._added)} if self._added else {})}
        return SourceChange(read.changes, after, read.how, *counts, done, read.rounded)

    def pending(self, position: Json) -> str:
        if position is None:
            now = self._stamps()
            return f"{count_of(len(now), 'file')}, {sum(stamp[0] for stamp in now.values()):,} bytes"
        now, changed, gone = self._compared(position)
        size = sum(now[name][0] for name in changed)
        return f"{count_of(len(changed), 'file')} to read, {size:,} bytes; {len(gone):,} to take back"

    def _compared(self, position: Json) -> tuple[Stamps, list[str], list[str]]:
        """Return the existing files, those that are new or changed, and those whose rows must be deleted."""
        now, before = self._stamps(), position["files"] if position else {}
        changed = [name for name, stamp in now.items() if name not in before or before[name]["stamp"] != [*stamp]]
        return now, changed, [name for name in before if name not in now or name in changed]

    def _stamps(self) -> Stamps:
        """Return the existing files, in natural order of their names. DataError if the folder does not exist."""
        address = self._folder.address
        try:
            if self._folder.is_delta():
                raise DataError([Diagnostic("this is a Delta table: the kind is delta", address)])
            result = self._folder.stamps()
        except OSError as error:
            raise unreadable(address, error) from error
        return {name: result[name] for name in sorted(result, key=natural)}

    # In this process

    def _here(self, news: _News) -> _Read | None:
        """Read the changes in this process; None if copies of deleted rows are lost."""
        went = [self._copies().rows(place) for places in news.went for place in places]
        whole = [rows for rows in went if rows is not None]
        if len(whole) < len(went):
            return None
        whole = [with_nulls(rows, news.table.schema) for rows in whole]
        whole += [news.held()] if news.held is not None else []
        rounding = Rounding()
        came, copies = self._came(news.table, news.now, news.changed, rounding)
        changes = difference(came, pa.concat_tables([_empty(news.table), *whole]))
        return _Read(changes, len(came), copies, news.summary(), rounding.columns)

    def _came(
        self, table: CatalogTable, now: Stamps, names: Iterable[str], rounding: Rounding
    ) -> tuple[pa.Table, dict[str, list[Json]]]:
        """Return the rows of files, and the locations of their copies."""
        reader, writer = FileReader.of(self._place, table, self._added), self._copies().writer()
        rows, count = dict[str, list[pa.Table]](), 0
        for name in names:
            rows[name] = list(reader.parts(name, now[name], rounding))
            count += sum(map(len, rows[name]))
            step_began(f"reading {table.name}", count)
        copies = {name: [writer.add(part) for part in parts] for name, parts in rows.items()}
        writer.finish()
        return pa.concat_tables([_empty(table), *(part for parts in rows.values() for part in parts)]), copies

    # By tasks

    def _by_tasks(self, news: _News) -> _Read | None:
        """Let tasks write the changes; None if this process must read them, or copies of deleted rows are lost."""
        table, went = news.table, [place for places in news.went for place in places]
        reader = FileReader.of(self._place, table, self._added)
        shares = [share for name in news.changed for share in _shares(reader, name, news.now[name])]
        shares += [ReadUnit(_Copy(place), place["length"]) for place in went]
        site = self._tasks.site(table, sum(share.size for share in shares)) if self._tasks is not None else None
        if site is None or self._tasks is None:
            return None
        kept = self._copies()
        if not kept.lend(site.files.passing(), went):
            site.files.clear()
            return None
        read = _ReadFiles(reader, kept.prefix)
        posted = self._tasks.posted(site, shares, read, table)
        if posted is None:
            return None
        copies: dict[str, list[Json]] = {name: [] for name in news.changed}
        about = list(chain.from_iterable(posted.report.about))
        for name, place, _ in about:
            copies[name].append(place)
        kept.take(site.files, [place for places in copies.values() for place in places])
        changes = posted if news.held is None else self._tasks.compared(table, posted, news.held)
        rounded = Rounding.total(each for *_, each in about)
        return _Read(changes, posted.report.inserted, copies, news.summary(" by tasks"), rounded)


@dataclass(frozen=True)
class _News:
    """The changes of a folder: the present files, those that changed, and the copies of files whose rows are deleted.

    If all files are compared with the table, its rows `held` are deleted.
    """

    table: CatalogTable
    now: Stamps
    changed: Sequence[str]
    went: Sequence[Sequence[Json]]
    held: HeldRows | None = None

    def summary(self, by: str = "") -> str:
        """Describe what was done."""
        if self.held is not None:
            return f"all files compared{by}"
        return f"{count_of(len(self.changed), 'file')} read{by}, {len(self.went):,} taken back"


@dataclass(frozen=True)
class _Read:
    """What was read: the changes, the number of rows in files, and the locations of the copies of each file."""

    changes: pa.Table | StagedRows
    rows: int
    copies: Mapping[str, list[Json]]
    how: str
    rounded: Mapping[str, RoundedValues]


@dataclass(frozen=True)
class _File:
    """A unit of work: share `number` of `count` of a file, whose rows are inserted."""

    name: str
    stamp: Sequence[int]
    number: int
    count: int


def _shares(reader: FileReader, name: str, stamp: Sequence[int]) -> Iterator[ReadUnit]:
    """Yield the units of a file: one, or several for a large file."""
    size, count = stamp[0], reader.shares(name, stamp[0], tasks.MUCH)
    yield from (ReadUnit(_File(name, stamp, number, count), size // count) for number in range(count))


@dataclass(frozen=True)
class _Copy:
    """A unit of work: a copy, whose rows are deleted."""

    place: Json


@dataclass(frozen=True)
class _ReadFiles:
    """Reads units in a task, and reports the location of the copy of each part of a file, and its rounded values."""

    reader: FileReader
    prefix: str

    def __call__(self, files: Files, shares: Sequence[_File | _Copy]) -> Iterator[tuple[pa.Table, Any]]:
        writer, none = CopyWriter(files.passing(), self.prefix), nothing(self.reader.schema)
        for share in shares:
            if isinstance(share, _Copy):
                rows = copied(files, share.place)
                yield (none, None) if rows is None else (with_weights(with_nulls(rows, self.reader.schema), -1), [])
            elif not self.reader.is_there(share.name):
                yield none, None
            else:
                rounding = Rounding()
                for part in self.reader.parts(share.name, share.stamp, rounding, share.number, share.count):
                    with writing(files):
                        place = writer.add(part)
                    yield with_weights(part, 1), [(share.name, place, rounding.taken())]
        with writing(files):
            writer.finish()


def _copies_of(file: Json) -> list[Json]:
    """Return the locations of a file's copies. An older state has one for each file instead of several."""
    result: list[Json] = file["copy"] if isinstance(file["copy"], list) else [file["copy"]]
    return result


def _empty(table: CatalogTable) -> pa.Table:
    return table.schema.to_arrow().empty_table()
