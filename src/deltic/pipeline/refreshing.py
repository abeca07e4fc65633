"""Refreshes: the changes of all tables' sources are one epoch, and then views are published."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pyarrow as pa

from deltic.catalog import External
from deltic.engine.comparing import netted
from deltic.engine.files.files import Files
from deltic.engine.files.local import LocalFiles
from deltic.errors import CatalogError, ChangeError, DataError, DelticError
from deltic.html import facts
from deltic.pipeline.connectors.copies import FOLDER, FileCopies
from deltic.pipeline.connectors.kinds import source_of, target_of
from deltic.pipeline.connectors.quarantine import FAILED, SourceFailure, due, failed_sources, now
from deltic.pipeline.connectors.source import (
    ExternalSource,
    HeldRows,
    SourceChange,
    SourceReport,
    keyed,
    of_path,
    refused,
)
from deltic.pipeline.connectors.target import PublishedRows, PublishedView, TargetMark, ViewTarget
from deltic.pipeline.connectors.tasks import Tasks
from deltic.pipeline.connectors.written import Publication
from deltic.pipeline.epochs.report import EpochReport
from deltic.pipeline.io.parsed import arrow_schema
from deltic.pipeline.names import find
from deltic.pipeline.rows.rows import without_weights
from deltic.pipeline.spark.spark import is_dataframe
from deltic.pipeline.watching import Watching
from deltic.progress import step_began, step_ended
from deltic.values.types import Column, Schema

_LOG = logging.getLogger("deltic.sources")
POSITION = "source {}"
"""The name of the position of a table's source."""
STAMP = "published {}"
"""The name of the position that has the stamp of a publication."""


@dataclass(frozen=True)
class _Place:
    """A publication, its target, and the target's epoch of this state; None if it has another state's."""

    publication: Publication
    target: ViewTarget
    epoch: int | None


@dataclass(frozen=True)
class RefreshReport:
    """The result of a refresh: what it read, changed and published."""

    epoch: int
    """The epoch of the tables and views."""
    sources: Mapping[str, SourceReport] = field(default_factory=dict)
    report: EpochReport | None = None
    """The report of the epoch, or of the last one if sources had separate epochs; None without changes."""
    published: Mapping[str, PublishedRows] = field(default_factory=dict)
    """What was written of views, by view and target."""
    failed: Mapping[str, SourceFailure] = field(default_factory=dict)
    """The tables whose sources were left out, and why."""

    @property
    def _entries(self) -> dict[str, Any]:
        return {**self.failed, **self.sources, **self.published}

    def __repr__(self) -> str:
        first = f"epoch {self.epoch}: {self.report or 'nothing was new'}"
        return "\n".join([first, *(f"{name}: {entry}" for name, entry in self._entries.items())])

    def _repr_html_(self) -> str:
        shown = facts({name: str(entry) for name, entry in self._entries.items()}, f"epoch {self.epoch}")
        return shown + ("" if self.report is None else self.report._repr_html_())


_Read: TypeAlias = "tuple[SourceChange, SourceReport]"
_OF_A_SOURCE = (CatalogError, ChangeError, DataError)
"""Errors about one source, which say nothing about others."""


@dataclass(frozen=True)
class _Taken:
    """The reports of sources, and their epoch."""

    reports: Mapping[str, SourceReport]
    epoch: EpochReport | None


def _noted(
    read: Collection[str], failed: Mapping[str, DelticError], known: Mapping[str, SourceFailure]
) -> dict[str, Any]:
    """Return the positions that record which sources failed, and which no longer fail."""
    moment = now()
    found = {name: SourceFailure.after(known.get(name), str(error), moment) for name, error in failed.items()}
    for name, failure in found.items():
        _LOG.warning("the source of %s was left out; it %s", name, failure)
    cleared = {FAILED.format(name): None for name in read if name in known}
    return {**cleared, **{FAILED.format(name): failure.position for name, failure in found.items()}}


class Refresher:
    """Refreshes the tables of one pipeline; one refresh at a time."""

    def __init__(
        self,
        pipeline: Watching,
        kept: Callable[[], Files | None],
        tasks: Tasks,
        add_columns: Callable[[str, Sequence[Column]], object],
    ) -> None:
        self._pipeline, self._kept, self._tasks, self._add_columns = pipeline, kept, tasks, add_columns
        self._lock = threading.Lock()
        self._given: dict[str, Any] = {}
        self._scratch: TemporaryDirectory[str] | None = None

    def place_of(self, source: Any) -> tuple[External, Any]:
        """Return a user's source as a place, and the DataFrame if it is one. Raises CatalogError."""
        if is_dataframe(source):
            return External("dataframe"), source
        place = source if isinstance(source, External) else of_path(str(source))
        place.check("source")
        return place, None

    def publication(self, view: str, to: Any) -> Publication:
        """Return a publication of a view to a user's target. CatalogError if it is not a target."""
        place = to if isinstance(to, External) else External("parquet", path=to)
        place.check("target")
        made = Publication(view, place, uuid.uuid4().hex)
        target_of(made, self._pipeline.spark)
        return made

    def check_free(self, publication: Publication) -> None:
        """Raise DelticError if files of others are at the path of a new publication."""
        if publication.to.get("path"):
            target_of(publication, self._pipeline.spark).mark()

    def columns(self, place: External, frame: Any, key: Collection[str]) -> Schema:
        """Return the columns of a source, for a table with a key, which is never NULL."""
        return keyed(source_of(place, frame, self._pipeline.spark, None, None).columns(), key)

    def give(self, table: str, frame: Any) -> None:
        """Set the DataFrame of a table."""
        self._given[table] = frame

    def pending(self, positions: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Describe what the next refresh would read of each source, from its own positions or another state's."""
        if positions is None:
            return {name: self._source(name).pending(self._position(name)) for name in self._sources}
        fields = {name: positions.get(POSITION.format(name)) for name in self._sources}
        known = {name: at["at"] for name, at in fields.items() if at and at["source"] == str(self._sources[name])}
        return {name: self._source(name).pending(known.get(name)) for name in self._sources}

    def refresh(self, full: bool, tables: Collection[str] | None) -> RefreshReport:
        """Read the changes, as one epoch, and publish the views; see `Defining.refresh`."""
        with self._alone():
            places, chosen = self._places(), self._chosen(full, tables)
            known = self._failures()
            taken = self._take(chosen, full, places, known)
            published = {str(place.publication): self._publish(place, full) for place in places}
            left_out = self._failures()
            return RefreshReport(self._pipeline.epoch, taken.reports, taken.epoch, published, left_out)

    def _chosen(self, full: bool, tables: Collection[str] | None) -> Collection[str]:
        """Return the tables whose sources must be read: the named ones, or all that need not wait."""
        if tables is not None:
            for name in tables:
                find(name, "table with a source", self._sources)
            return tables
        known = self._failures()
        return list(self._sources) if full else due(self._sources, known, now())

    def _failures(self) -> dict[str, SourceFailure]:
        """Return the sources that were left out at their last refresh."""
        failures = failed_sources(self._pipeline.positions)
        return {name: failure for name, failure in failures.items() if name in self._sources}

    def load(self, tables: Collection[str]) -> Mapping[str, SourceReport]:
        """Read the sources of some tables, as one epoch or not at all. Nothing is published."""
        with self._alone():
            return self._taken_at_once({name: self._read(name, False) for name in tables}, (), {}).reports

    def _take(
        self, tables: Collection[str], full: bool, places: Sequence[_Place], known: Mapping[str, SourceFailure]
    ) -> _Taken:
        """Read the changes of tables' sources, and make one epoch of them. Failing sources are left out.

        Raises their error if all of them fail.
        """
        read, failed = dict[str, _Read](), dict[str, DelticError]()
        for name in tables:
            try:
                read[name] = self._read(name, full)
            except _OF_A_SOURCE as error:
                failed[name] = error
        if failed and not read:
            raise next(iter(failed.values()))
        try:
            return self._taken_at_once(read, places, _noted(read, failed, known))
        except _OF_A_SOURCE:
            if len(read) == 1:
                raise
        return self._taken_one_by_one(tables, full, places, known)

    def _taken_at_once(self, read: Mapping[str, _Read], places: Sequence[_Place], noted: Mapping[str, Any]) -> _Taken:
        """Make one epoch of the changes, which also records failures."""
        report = self._apply({name: result for name, (result, _) in read.items()}, places, noted)
        for result, _ in read.values():
            result.done()
        self._forget_dropped()
        return _Taken({name: entry for name, (_, entry) in read.items()}, report)

    def _taken_one_by_one(
        self, tables: Collection[str], full: bool, places: Sequence[_Place], known: Mapping[str, SourceFailure]
    ) -> _Taken:
        """Make an epoch for each source, because the rows of one of them are invalid or conflict."""
        taken, failed = _Taken({}, None), dict[str, DelticError]()
        for name in tables:
            try:
                one = self._taken_at_once({name: self._read(name, full)}, places, {})
            except _OF_A_SOURCE as error:
                failed[name] = error
                continue
            taken = _Taken({**taken.reports, **one.reports}, one.epoch or taken.epoch)
        if not taken.reports:
            raise next(iter(failed.values()))
        return _Taken(taken.reports, self._apply({}, places, _noted(taken.reports, failed, known)) or taken.epoch)

    def _places(self) -> list[_Place]:
        """Return the publications, with the known epochs of their targets."""
        result, positions = [], self._pipeline.positions
        for publication in self._pipeline.publications:
            target = target_of(publication, self._pipeline.spark)
            mark, stamp = target.mark(), positions.get(STAMP.format(publication.id))
            is_ours = mark is not None and mark.stamp == stamp and mark.epoch <= self._pipeline.epoch
            result.append(_Place(publication, target, mark.epoch if mark is not None and is_ours else None))
        return result

    def _publish(self, place: _Place, full: bool) -> PublishedRows:
        """Write the present rows of a view to its target; with `full`, check all of the target."""
        pipeline, view, began = self._pipeline, place.publication.view, time.perf_counter()
        snapshot = pipeline.snapshot()
        if place.epoch == snapshot.epoch and not full:
            return PublishedRows("nothing was new")
        mark = TargetMark(pipeline.positions[STAMP.format(place.publication.id)], snapshot.epoch)

        def rows() -> pa.Table:
            return without_weights(snapshot.version.read(view), view)

        shown = PublishedView(view, pipeline.views[view], mark, rows, full)
        step_began(f"publishing {view}")
        result = place.target.publish(shown, None if full else self._since(view, place.epoch, snapshot.epoch))
        step_ended(f"publishing {view}", 0, time.perf_counter() - began)
        return result

    def _since(self, view: str, before: int | None, now: int) -> pa.Table | None:
        """Return how a view has changed since an epoch; None if that is unknown."""
        if before is None:
            return None
        try:
            changes = list(self._pipeline.changes(view, before))
        except DelticError:
            return None
        nothing = arrow_schema(self._pipeline.views[view], signed=True).empty_table()
        return netted(pa.concat_tables([nothing, *(c.to_arrow() for c in changes if c.epoch <= now)]))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            raise DelticError("another thread refreshes this pipeline: wait for it, and refresh again")
        try:
            yield
        finally:
            self._lock.release()

    @property
    def _sources(self) -> Mapping[str, Any]:
        return self._pipeline.sources

    def _source(self, name: str) -> ExternalSource:
        place = find(name, "table with a source", self._sources)
        spark = self._pipeline.spark
        return source_of(place, self._given.get(name), spark, lambda: FileCopies(self._files, name), self._tasks)

    def _position(self, name: str) -> Any:
        """Return the position of a source; None if it is another source's, or an earlier table's of that name."""
        result = self._pipeline.positions.get(POSITION.format(name))
        is_same = result is not None and result["source"] == str(self._sources[name])
        return result["at"] if result is not None and is_same and (result["empty"] or self._count(name)) else None

    def _count(self, name: str) -> int:
        return self._pipeline.snapshot().version.count(name, table=True)

    def _read(self, name: str, full: bool) -> tuple[SourceChange, SourceReport]:
        pipeline, began = self._pipeline, time.perf_counter()
        step_began(f"reading {name}")
        source, position = self._source(name), self._position(name)
        self._meet_new_columns(name, source, position)
        held = HeldRows(pipeline.snapshot().version, name)
        result = source.new(pipeline.catalog.tables[name], position, held, full)
        counts = result.read, result.files, result.bytes, result.inserted, result.deleted
        seconds = time.perf_counter() - began
        step_ended(f"reading {name}", result.read, seconds)
        return result, SourceReport(result.how, *counts, seconds, result.rounded)

    def _meet_new_columns(self, name: str, source: ExternalSource, position: Any) -> None:
        """Add columns to a table that are new in its source, in an epoch of their own, or raise DataError."""
        choice, table = self._sources[name].get("new_columns", "ignore"), self._pipeline.catalog.tables[name]
        if choice == "ignore" or not (found := source.new_columns(table, position)):
            return
        if choice == "refuse":
            raise refused(table, found)
        self._add_columns(name, [column for column, _ in found.values()])

    def _apply(
        self, news: Mapping[str, SourceChange], places: Sequence[_Place], noted: Mapping[str, Any]
    ) -> EpochReport | None:
        """Make one epoch of the changes, with new stamps for publications; None if there are none."""
        positions = dict(noted)
        for name, result in news.items():
            left = self._count(name) + result.inserted - result.deleted
            fields = {"source": str(self._sources[name]), "at": result.position, "empty": left <= 0}
            if self._pipeline.positions.get(POSITION.format(name)) != fields:
                positions[POSITION.format(name)] = fields
        is_new = positions or any(result.count for result in news.values())
        if not is_new and all(place.epoch == self._pipeline.epoch for place in places):
            return None
        stamps = {STAMP.format(place.publication.id): uuid.uuid4().hex for place in places}
        with self._pipeline.transaction("error", positions={**positions, **stamps}) as change:
            for name, result in news.items():
                change.refill(name, result.changes)
        return change.report

    @property
    def _files(self) -> Files:
        """The place of copies: beside the state, or temporary."""
        if (kept := self._kept()) is not None:
            return kept
        if self._scratch is None:
            self._scratch = TemporaryDirectory(prefix="deltic-sources-")
        return LocalFiles(Path(self._scratch.name))

    def _forget_dropped(self) -> None:
        """Remove the copies of dropped tables."""
        for name in self._files.names(FOLDER):
            if name.removeprefix(f"{FOLDER}/")[:-33] not in self._sources:
                self._files.remove(name)
