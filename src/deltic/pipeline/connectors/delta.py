"""Delta tables as sources, by the package deltalake, which needs no Java."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from deltic.catalog import CatalogTable, External
from deltic.engine.batches import with_weights
from deltic.engine.files.files import Files
from deltic.engine.image import Json
from deltic.errors import DataError, DelticError, Diagnostic
from deltic.extras import required
from deltic.pipeline.connectors.source import HeldRows, RowsOfSource, SourceChange, filled, nothing
from deltic.pipeline.connectors.tasks import ReadUnit, Tasks
from deltic.pipeline.connectors.versions import VersionedSource, by_tasks
from deltic.values.types import Schema

_FEED = "delta.enableChangeDataFeed"


def deltalake() -> Any:
    """Return the package. DelticError if it is not installed."""
    return required("deltalake", "a Delta table")


class DeltaSource(VersionedSource):
    """A Delta table. The change data feed has the changes after a version.

    Without the feed, the changes are the files that were added and removed. If these are gone, or have deletion
    vectors, the whole table is compared.
    """

    def __init__(self, place: External, tasks: Tasks | None = None) -> None:
        super().__init__(place, tasks)
        self._label = filled(place["path"])

    def columns(self) -> Schema:
        return Schema.of_arrow(pa.schema(self.open_table().schema()))

    def errors(self) -> AbstractContextManager[None]:
        return errors(self._label)

    def open_table(self, version: int | None = None) -> Any:
        return _at(self._label, version)

    def position_of(self, now: Any) -> Json:
        return {"id": str(now.metadata().id), "version": now.version()}

    def changes_since(
        self, table: CatalogTable, position: Json, now: Any, at: Json, held: HeldRows
    ) -> SourceChange | str:
        span, has_feed = self._span(position, at), now.metadata().configuration.get(_FEED, "").lower() == "true"
        reason = ""
        for how, read in [("change feed", self._of_feed)] * has_feed + [("files", self._of_changed_files)]:
            try:
                return read(table, position["version"], now, at, f"{how} of {span}")
            except _failures() as error:
                reason = f"the {how} of {span} cannot be read: {_reason(error)}"
        return reason

    def _of_feed(self, table: CatalogTable, before: int, now: Any, at: Json, how: str) -> SourceChange:
        parts, size, reader, site = [nothing(table.schema)], 0, self._reader(table, now), None
        for part in reader.feed(now, before + 1, now.version()):
            parts.append(part)
            size += part.nbytes
            if site is None and (site := self._tasks.site(table, size)) is not None:
                shares = [ReadUnit(_Feed(version), 1) for version in range(before + 1, now.version() + 1)]
                if (posted := self._tasks.posted(site, shares, reader, table)) is not None:
                    return by_tasks(posted, at, how)
        changes = pa.concat_tables(parts)
        return SourceChange(changes, at, how, len(changes), rounded=reader.rows.taken())

    def _of_changed_files(self, table: CatalogTable, before: int, now: Any, at: Json, how: str) -> SourceChange:
        then = self.open_table(before)
        were, are, reader = set(_fragments(then)), set(_fragments(now)), self._reader(table, now, then)
        return self._of_files(reader, _shares(now, are - were), _shares(then, were - are, -1), at, how)

    def all_rows(self, table: CatalogTable, now: Any, at: Json, held: HeldRows) -> SourceChange:
        try:
            shares = _shares(now, _fragments(now))
        except _failures():
            shares = [ReadUnit(_Whole(now.version()), sum(_sizes(now).values()))]
        return self._of_all(self._reader(table, now), shares, at, held)

    def _reader(self, table: CatalogTable, *opened: Any) -> _Reader:
        versions = {each.version(): each for each in opened}
        return _Reader(self._label, RowsOfSource(table, self._place), versions)


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
    opened: Mapping[int, Any] = field(default_factory=dict, compare=False)
    """The versions that this process has open. They do not travel."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _Reader, (self.path, self.rows)

    def __call__(self, files: Files, shares: Sequence[_File | _Feed | _Whole]) -> Iterator[tuple[pa.Table, Any]]:
        with errors(self.path):
            try:
                opened = self._opened(shares)
            except DelticError:
                yield nothing(self.rows.table.schema), None
                return
            for share in shares:
                if isinstance(share, _Feed):
                    feed = self.feed(opened[share.version], share.version, share.version)
                    yield from ((rows, self.rows.taken()) for rows in feed)
            units = [share for share in shares if not isinstance(share, _Feed)]
            for rows, weight in self._parts(units, opened):
                yield with_weights(rows, weight), self.rows.taken()

    def _opened(self, shares: Iterable[_File | _Feed | _Whole]) -> dict[int, Any]:
        versions = {share.version for share in shares}
        return {version: self.opened.get(version) or _at(self.path, version) for version in versions}

    def parts(self, units: Sequence[_File | _Whole]) -> Iterator[tuple[pa.Table, int]]:
        """Yield the rows of units, part by part, with the weight of each part."""
        return self._parts(units, self._opened(units))

    def _parts(self, units: Sequence[_File | _Whole], opened: Mapping[int, Any]) -> Iterator[tuple[pa.Table, int]]:
        names = self.rows.table.schema.names
        groups: dict[tuple[int, int], list[str]] = {}
        for unit in units:
            if isinstance(unit, _Whole):
                whole = pa.RecordBatchReader.from_stream(opened[unit.version].scan(columns=list(names)))
                yield from ((self.rows(pa.Table.from_batches([batch])), 1) for batch in whole)
            else:
                groups.setdefault((unit.version, unit.weight), []).append(unit.name)
        for (version, weight), chosen in groups.items():
            dataset = opened[version].to_pyarrow_dataset()
            fragments = {fragment.path: fragment for fragment in dataset.get_fragments()}
            part = [fragments[name] for name in sorted(chosen)]
            result = ds.FileSystemDataset(part, dataset.schema, dataset.format, dataset.filesystem)
            for batch in result.to_batches(columns=list(names)):
                yield self.rows(pa.Table.from_batches([batch])), weight

    def feed(self, now: Any, first: int, last: int) -> Iterator[pa.Table]:
        """Yield the change data feed of some versions, part by part."""
        for batch in pa.RecordBatchReader.from_stream(now.load_cdf(first, last)):
            rows = pa.Table.from_batches([batch]).select([*self.rows.table.schema.names, "_change_type"])
            yield self.rows(rows, signed=True)


def _at(path: str, version: int | None = None) -> Any:
    with errors(path):
        return deltalake().DeltaTable(path, version=version, storage_options=options_of(path))


def _fragments(outside: Any) -> dict[str, Any]:
    """Return the files of a version by name. Raises the package's error if they do not determine its rows."""
    return {fragment.path: fragment for fragment in outside.to_pyarrow_dataset().get_fragments()}


def _shares(outside: Any, names: Iterable[str], weight: int = 1) -> list[ReadUnit]:
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
