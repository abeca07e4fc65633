"""Folders of files that come and go: what is new are the files that were added, removed or written anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from deltic.catalog import External, Table
from deltic.circuit.types import Column, Schema, Type
from deltic.engine.image import Json
from deltic.errors import CatalogError, DataError, Diagnostic
from deltic.pipeline.io.arrow_reader import ArrowReader
from deltic.pipeline.io.layout import Kind, Layout
from deltic.pipeline.io.locate import Files, natural
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.text import parse_line
from deltic.pipeline.loader import Loader
from deltic.pipeline.outside.copies import Copies
from deltic.pipeline.outside.places import Stamps, place_at
from deltic.pipeline.outside.source import Found, Held, difference, filled, nothing

_KINDS = {"parquet": Kind.PARQUET, "csv": Kind.TEXT, "json": Kind.JSON, "arrow": Kind.ARROW}
_NULL = "__HIVE_DEFAULT_PARTITION__"


class FolderSource:
    """A folder of files with its sub-folders, or one file. Sub-folders such as `day=2026-11-22` give a column.

    A position has each file with its stamp, and where a copy of its rows is kept.
    """

    def __init__(self, place: External, copies: Callable[[], Copies]) -> None:
        self._place, self._copies = place, copies
        self._folder = place_at(filled(place["path"]))

    def columns(self) -> Schema:
        """Those of the first file, and those that sub-folders give, which are texts."""
        kind = _KINDS[self._place.kind]
        if kind not in (Kind.PARQUET, Kind.ARROW):
            raise CatalogError(f"{self._place}: {self._place.kind} files do not tell their columns; declare them")
        first = next(iter(self._stamps()), None)
        if first is None:
            raise CatalogError(f"{self._place}: there is no file that would tell the columns; declare them")
        with self._reading(first) as path:
            own = Schema.of_arrow(_arrow_schema(path, kind))
        given = [Column(name, Type.STRING, True) for name in _given(first) if name not in own.names]
        return Schema((*own, *given))

    def new(self, table: Table, position: Json, held: Held, wants_all: bool) -> Found:
        now, changed, gone = self._compared(position)
        if not changed and not gone and position is not None and not wants_all:
            return Found(nothing(table.schema), position, "no file changed")
        copies, before = self._copies(), position["files"] if position else {}
        is_known = position is not None and not wants_all
        went = [copies.rows(before[name]["copy"]) for name in gone] if is_known else [None]
        whole = [rows for rows in went if rows is not None]
        compares = len(whole) < len(went)
        read = {name: self._rows(table, name, now[name]) for name in (now if compares else changed)}
        came = pa.concat_tables([_empty(table), *read.values()])
        changes = (
            difference(came, held({})) if compares else difference(came, pa.concat_tables([_empty(table), *whole]))
        )
        places = copies.keep(read)
        files = {
            name: {"stamp": [*stamp], "copy": places[name] if name in places else before[name]["copy"]}
            for name, stamp in now.items()
        }
        used = {file["copy"]["file"] for file in files.values()}
        how = "all files compared" if compares else f"{len(changed):,} files read, {len(gone):,} taken back"
        size = sum(now[name][0] for name in read)
        return Found(changes, {"files": files}, how, len(came), len(read), size, lambda: copies.collect_garbage(used))

    def pending(self, position: Json) -> str:
        if position is None:
            now = self._stamps()
            return f"{len(now):,} files, {sum(stamp[0] for stamp in now.values()):,} bytes"
        now, changed, gone = self._compared(position)
        size = sum(now[name][0] for name in changed)
        return f"{len(changed):,} files to read, {size:,} bytes; {len(gone):,} to take back"

    def _compared(self, position: Json) -> tuple[Stamps, list[str], list[str]]:
        """The files that are there, those that are new or other ones, and those whose rows go."""
        now, before = self._stamps(), position["files"] if position else {}
        changed = [name for name, stamp in now.items() if name not in before or before[name]["stamp"] != [*stamp]]
        return now, changed, [name for name in before if name not in now or name in changed]

    def _stamps(self) -> Stamps:
        """The files that are there, in natural order of their names; raises DataError where the folder is not."""
        address = self._folder.address
        try:
            if self._folder.is_delta():
                raise DataError([Diagnostic("this is a Delta table: the kind is delta", address)])
            found = self._folder.stamps()
        except OSError as error:
            raise _unreadable(address, error) from error
        return {name: found[name] for name in sorted(found, key=natural)}

    @contextmanager
    def _reading(self, name: str) -> Iterator[Path]:
        """The path of a file on this machine."""
        try:
            with self._folder.fetched(name) as path:
                yield path
        except OSError as error:
            raise _unreadable(self._named(name), error) from error

    def _named(self, name: str) -> str:
        return f"{self._folder.address}/{name}" if name else self._folder.address

    def _rows(self, table: Table, name: str, stamp: Sequence[int]) -> pa.Table:
        """The rows of a file; raises DataError where they are not the table's, or it is written meanwhile."""
        given = _given(name)
        own = Schema(tuple(column for column in table.schema if column.name not in given))
        text = self._place.get("delimiter", ","), self._place.is_on("headers"), self._place.is_on("rfc4180")
        layout = Layout(own, _KINDS[self._place.kind], False, *text)
        with self._reading(name) as path:
            rows = Loader(ArrowReader(), None).load([Files(table.name, (path,), layout)])[table.name]
            is_same = self._folder.stamp(name) == stamp
        if not is_same:
            raise DataError([Diagnostic("the file was written while it was read; refresh again", self._named(name))])
        for column in table.schema:
            if column.name in given:
                value = _value(given[column.name], column, self._named(name))
                rows = rows.append_column(column.name, pa.repeat(pa.scalar(value, column.type.arrow), len(rows)))
        return rows.select(table.schema.names).cast(table.schema.to_arrow())


def _given(name: str) -> dict[str, str]:
    """The columns that the folders on the way to a file give, with their values as texts."""
    parts = (part.partition("=") for part in Path(name).parts[:-1] if "=" in part)
    return {unquote(column): unquote(value) for column, _, value in parts}


def _value(text: str, column: Column, path: str) -> object:
    """The value that the name of a folder gives; raises DataError for one that is none of the column."""
    if text == _NULL and column.nullable:
        return None
    try:
        return parse_line(text, Layout(Schema((column,)), delimiter="\0"))[0][0]
    except Malformed as error:
        found = f"the folder {column.name}={text}: {error.reason}"
        raise DataError([Diagnostic(found, path)]) from error


def _arrow_schema(path: Path, kind: Kind) -> pa.Schema:
    import pyarrow.parquet as pq

    try:
        if kind is Kind.PARQUET:
            return pq.read_schema(path)
        with pa.memory_map(str(path)) as source:
            return pa.ipc.open_file(source).schema
    except (pa.ArrowException, OSError) as error:
        raise DataError([Diagnostic(f"the columns cannot be read: {error}", str(path))]) from error


def _empty(table: Table) -> pa.Table:
    return table.schema.to_arrow().empty_table()


def _unreadable(address: str, error: OSError) -> DataError:
    return DataError([Diagnostic(f"it cannot be read: {error.strerror or error}", error.filename or address)])
