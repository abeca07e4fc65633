"""Delta tables as sources, by the package deltalake, which needs no Java."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from deltic.catalog import CatalogTable, External
from deltic.engine.batches import with_weights
from deltic.engine.comparing import difference
from deltic.engine.files.files import Files
from deltic.engine.image import Json
from deltic.errors import DataError, DelticError, Diagnostic
from deltic.extras import required
from deltic.pipeline.connectors.source import HeldRows, RowsOfSource, SourceChange, filled, new_columns, nothing
from deltic.pipeline.connectors.tasks import NO_TASKS, ReadUnit, Tasks
from deltic.pipeline.io.rounding import Rounding
from deltic.values.types import Column, Schema

_FEED = "delta.enableChangeDataFeed"


def deltalake() -> Any:
    """Return the package. DelticError if it is not installed."""
    return required("deltalake", "a Delta table")


class DeltaSource:
    """A Delta table. A position is its id and a version: the change data feed has the changes after it.

    Without the feed, the changes are the files that were added and removed. If these are gone, or have deletion
    vectors, the whole table is compared.
    """

    def __init__(self, place: External, tasks: Tasks | None = None) -> None:
        self.path, self._place, self._tasks = filled(place["path"]), place, tasks or NO_TASKS

    def columns(self) -> Schema:
        return Schema.of_arrow(pa.schema(self._at().schema()))

    def new_columns(self, table: CatalogTable, position: Json) -> dict[str, tuple[Column, str]]:
        return new_columns(table, {self.path: self.columns()})

    def pending(self, position: Json) -> str:
        now = self._at()
        if position is None or position["id"] != str(now.metadata().id):
            return f"all of version {now.version()}"
        return (
            f"versions {position['version'] + 1} to {now.version()}"
            if now.version() > position["version"]
            else "no version"
        )

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        now = self._at()
        at = {"id": str(now.metadata().id), "version": now.version()}
        if position == at and not wants_all:
            return SourceChange(nothing(table.schema), at, "no version")
        if (
            position is not None
            and position["id"] == at["id"]
            and position["version"] < at["version"]
            and not wants_all
        ):
            for read in (self._of_feed, self._of_files):
                if (result := read(table, position["version"], now, at)) is not None:
                    return result
        if (result := self._all(table, now, at, held)) is not None:
            return result
        with errors(self.path):
            reader = self._reader(table)
            rows = pa.concat_tables([table.schema.to_arrow().empty_table(), *reader.whole(now)])
        return SourceChange(difference(rows, held()), at, "compared", len(rows), rounded=reader.rows.taken())

    def _reader(self, table: CatalogTable) -> _Reader:
        return _Reader(self.path, RowsOfSource(table, self._place))

    def _of_feed(self, table: CatalogTable, before: int, now: Any, at: Json) -> SourceChange | None:
        """Return the changes from the change data feed; None if it does not have all of them."""
        if now.metadata().configuration.get(_FEED, "").lower() != "true":
            return None
        how, parts, size = f"change feed of versions {before + 1} to {now.version()}", [nothing(table.schema)], 0
        reader, site = self._reader(table), None
        try:
            for part in reader.feed(now, before + 1, now.version()):
                parts.append(part)
                size += part.nbytes
                if site is None and (site := self._tasks.site(table, size)) is not None:
                    shares = [ReadUnit(_Feed(version), 1) for version in range(before + 1, now.version() + 1)]
                    if (posted := self._tasks.posted(site, shares, reader, table)) is not None:
                        rounded = Rounding.total(posted.report.about)
                        return SourceChange(posted, at, f"{how}, by tasks", posted.count(), rounded=rounded)
        except _failures():
            return None
        changes = pa.concat_tables(parts)
        return SourceChange(changes, at, how, len(changes), rounded=reader.rows.taken())

    def _of_files(self, table: CatalogTable, before: int, now: Any, at: Json) -> SourceChange | None:
        """Return the changes by files that were added and removed; None if files do not determine them."""
        try:
            then = self._at(before)
            were, are = set(_fragments(then)), set(_fragments(now))
            shares = [*_shares(now, are - were, 1), *_shares(then, were - are, -1)]
            size, how = sum(share.size for share in shares), f"files of versions {before + 1} to {now.version()}"
            reader = self._reader(table)
            if (posted := self._tasks.read(table, shares, reader)) is not None:
                rounded, count = Rounding.total(posted.report.about), posted.count()
                return SourceChange(posted, at, f"{how}, by tasks", count, len(shares), size, rounded=rounded)
            came = reader.of_files(now, are - were)
            rounded = reader.rows.taken()
            went = reader.of_files(then, were - are)
        except _failures():
            return None
        counts = len(came) + len(went), len(shares), size
        return SourceChange(difference(came, went), at, how, *counts, rounded=rounded)

    def _all(self, table: CatalogTable, now: Any, at: Json, held: HeldRows) -> SourceChange | None:
        """Return all rows, written by tasks; None if this process must read them."""
        size = sum(_sizes(now).values())
        try:
            shares = _shares(now, _fragments(now), 1)
        except _failures():
            shares = [ReadUnit(_Whole(now.version()), size)]
        if (posted := self._tasks.read(table, shares, self._reader(table))) is None:
            return None
        changes, rounded = self._tasks.compared(table, posted, held), Rounding.total(posted.report.about)
        how = "loaded by tasks" if held.is_empty else "compared, by tasks"
        return SourceChange(changes, at, how, posted.count(), len(shares), size, rounded=rounded)

    def _at(self, version: int | None = None) -> Any:
        return _at(self.path, version)


@dataclass(frozen=True)
class _File:
    """A unit of work: a file of a version, whose rows are inserted or deleted."""

    version: int
    name: str
    weight: int


@dataclass(frozen=True)
class _Feed:
    """A unit of work: the change data feed of a version."""

    version: int


@dataclass(frozen=True)
class _Whole:
    """A unit of work: all rows of a version, for tables with deletion vectors."""

    version: int


@dataclass(frozen=True)
class _Reader:
    """Reads units of a Delta table, in this process or in a task."""

    path: str
    rows: RowsOfSource

    def __call__(self, files: Files, shares: Sequence[_File | _Feed | _Whole]) -> Iterator[tuple[pa.Table, Any]]:
        try:
            opened = {number: _at(self.path, number) for number in sorted({share.version for share in shares})}
        except DelticError:
            yield nothing(self.rows.table.schema), None
            return
        with errors(self.path):
            for share in shares:
                yield from ((rows, self.rows.taken()) for rows in self._of(opened[share.version], share))

    def _of(self, now: Any, share: _File | _Feed | _Whole) -> Iterator[pa.Table]:
        """Yield the changes of a unit of a version, part by part."""
        match share:
            case _Feed(version=version):
                yield from self.feed(now, version, version)
            case _Whole():
                yield from (with_weights(rows, 1) for rows in self.whole(now))
            case _File(name=name, weight=weight):
                yield from (with_weights(rows, weight) for rows in self._parts_of(now, [name]))

    def whole(self, now: Any) -> Iterator[pa.Table]:
        """Yield all rows of a version, part by part."""
        for batch in pa.RecordBatchReader.from_stream(now.scan(columns=list(self.rows.table.schema.names))):
            yield self.rows(pa.Table.from_batches([batch]))

    def feed(self, now: Any, first: int, last: int) -> Iterator[pa.Table]:
        """Yield the change data feed of some versions, part by part."""
        for batch in pa.RecordBatchReader.from_stream(now.load_cdf(first, last)):
            rows = pa.Table.from_batches([batch]).select([*self.rows.table.schema.names, "_change_type"])
            yield self.rows(rows, signed=True)

    def _parts_of(self, outside: Any, names: Iterable[str]) -> Iterator[pa.Table]:
        """Yield the rows of some files of a version, part by part."""
        dataset = outside.to_pyarrow_dataset()
        fragments = {fragment.path: fragment for fragment in dataset.get_fragments()}
        chosen = [fragments[name] for name in sorted(names)]
        result = ds.FileSystemDataset(chosen, dataset.schema, dataset.format, dataset.filesystem)
        for batch in result.to_batches(columns=list(self.rows.table.schema.names)):
            yield self.rows(pa.Table.from_batches([batch]))

    def of_files(self, outside: Any, names: Iterable[str]) -> pa.Table:
        """Return the rows of some files of a version."""
        return pa.concat_tables([self.rows.table.schema.to_arrow().empty_table(), *self._parts_of(outside, names)])


def _at(path: str, version: int | None = None) -> Any:
    with errors(path):
        return deltalake().DeltaTable(path, version=version, storage_options=options_of(path))


def _fragments(outside: Any) -> dict[str, Any]:
    """Return the files of a version by name. Raises the package's error if they do not determine its rows."""
    return {fragment.path: fragment for fragment in outside.to_pyarrow_dataset().get_fragments()}


def _shares(outside: Any, names: Iterable[str], weight: int) -> list[ReadUnit]:
    """Return units for files of a version, whose rows are inserted or deleted."""
    sizes = _sizes(outside)
    return [
        ReadUnit(_File(outside.version(), name, weight), sizes.get(name.rpartition("/")[2], 0))
        for name in sorted(names)
    ]


def _sizes(table: Any) -> dict[str, int]:
    """Return the sizes of its files, by the last parts of their names."""
    actions = pa.table(table.get_add_actions())
    names = (path.rpartition("/")[2] for path in actions.column("path").to_pylist())
    return dict(zip(names, actions.column("size_bytes").to_pylist(), strict=True))


def _failures() -> tuple[type[Exception], ...]:
    """Return the errors of reading a table: those of the package, and of the libraries that it uses."""
    return importlib.import_module("deltalake.exceptions").DeltaError, pa.ArrowException, OSError


@contextmanager
def errors(path: str) -> Iterator[None]:
    """Convert the package's errors to DataError."""
    deltalake()
    try:
        yield
    except _failures() as error:
        raise DataError([Diagnostic(f"the Delta table cannot be read: {_reason(error)}", path)]) from error


def _reason(error: Exception) -> str:
    """Return the message of an error: its summary and its root cause."""
    lines = [re.sub(r"\x1b\[[0-9;]*m|^[\s↳]+", "", line).strip("↳ ") for line in str(error).splitlines()]
    relevant = [line for line in lines if line and not re.match(r"Debug source:|\w+ \{", line)]
    return ": ".join(dict.fromkeys([relevant[0], relevant[-1]])) if relevant else type(error).__name__


def options_of(address: str) -> dict[str, str] | None:
    """Return the package's options for a store. Keys and endpoints come from the environment, such as
    AWS_ACCESS_KEY_ID.
    """
    return {"max_retries": "3", "retry_timeout": "20s", "timeout": "60s"} if "://" in address else None
