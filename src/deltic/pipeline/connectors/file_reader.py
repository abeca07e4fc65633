"""Reads one file of a folder as rows of a table, in this process or in a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from deltic.catalog import CatalogTable, External
from deltic.errors import DataError, Diagnostic
from deltic.pipeline.connectors.places import ExternalPlace, LocalFile, place_at, reason_of
from deltic.pipeline.connectors.source import filled
from deltic.pipeline.io.layout import FileKind, FileLayout
from deltic.pipeline.io.loader import Loader
from deltic.pipeline.io.locate import COMPRESSED, TableFiles, places_by_name
from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.records import may_have_lines
from deltic.pipeline.io.rounding import Rounding
from deltic.pipeline.io.splits import ArrowReader, read, splits
from deltic.pipeline.io.text import check_delimiter, parse_line
from deltic.values.types import Column, Schema

_INFERRED = 16 << 20
"""The number of bytes of a text file from which its columns are inferred."""
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class FileReader:
    """Reads the files of a folder at an address as rows of a table. Tasks receive it by value."""

    address: str
    place: External
    table: str
    schema: Schema
    optional: tuple[str, ...] = ()
    """The columns that files may lack, because they were added later."""

    @classmethod
    def of(cls, place: External, table: CatalogTable, optional: tuple[str, ...] = ()) -> FileReader:
        """Return the reader of a source for a table."""
        return cls(filled(place["path"]), place, table.name, table.schema, optional)

    @cached_property
    def folder(self) -> ExternalPlace:
        """Return the folder."""
        return place_at(self.address)

    def is_there(self, name: str) -> bool:
        """Return whether the file exists, as seen from this process."""
        try:
            self.folder.stamp(name)
        except OSError:
            return False
        return True

    def shares(self, name: str, size: int, least: int) -> int:
        """Return the number of shares in which a file of `size` bytes may be read, each of at least `least` bytes."""
        is_whole = self.place.kind == "arrow" or name.endswith(COMPRESSED) or may_have_lines(self._layout(name))
        return 1 if is_whole else max(1, size // least)

    def parts(
        self, name: str, stamp: Sequence[int], rounding: Rounding, share: int = 0, shares: int = 1
    ) -> Iterator[pa.Table]:
        """Yield the rows of a file, or of one of its shares, part by part, and count the rounded values.

        Raises DataError if they are not the table's, or, after the last part, if the file was written in the meantime.
        """
        given, layout, size = columns_of(name), self._layout(name), stamp[0]
        layout = replace(layout, rounding=rounding if self.place.is_on("coerce") else None)
        with reading(self.folder, name, size if shares > 1 else None) as file:
            file.have_outline(layout.kind)
            layout = self._layout_of(layout, file.path)
            files = TableFiles(self.table, (file.path,), layout)
            there = list(splits(files, size // shares if shares > 1 else None))
            for split in there[len(there) * share // shares : len(there) * (share + 1) // shares]:
                file.have_split(split, layout)
                for batch in read(split, layout):
                    if batch.rejects:
                        file.have()
                        Loader(ArrowReader(), None).load([files])  # raises, with all that is wrong in the file
                    yield self._with(given, batch.table, name)
            is_same = self.folder.stamp(name) == stamp
        if not is_same:
            message = "the file was written while it was read; refresh again"
            raise DataError([Diagnostic(message, named(self.folder, name))])

    def _layout(self, name: str) -> FileLayout:
        """Return how a file is read, without the columns that its folders provide."""
        given = columns_of(name)
        own = Schema(tuple(column for column in self.schema if column.name not in given))
        text = self.place.get("delimiter", ","), self.place.is_on("headers"), self.place.is_on("rfc4180")
        return FileLayout(own, FileKind(self.place.kind), False, *text)

    def _layout_of(self, layout: FileLayout, path: Path) -> FileLayout:
        """Return how to read a file that may lack columns, and whose first line names the fields."""
        if self.optional:
            there = arrow_schema_of_file(path, layout.kind, self.place).names
            present = [column for column in layout.schema if column.name in there or column.name not in self.optional]
            layout = replace(layout, schema=Schema(tuple(present)))
        if layout.kind is FileKind.TEXT and (self.place.is_on("headers") or self.place.get("new_columns")):
            return replace(layout, places=places_by_name(self.table, [path], layout))
        return layout

    def _with(self, given: dict[str, str], rows: pa.Table, name: str) -> pa.Table:
        """Return rows of a file with the columns that its folders provide."""
        for column in self.schema:
            if column.name in given:
                value = _value(given[column.name], column, named(self.folder, name))
                rows = rows.append_column(column.name, pa.repeat(pa.scalar(value, column.type.arrow), len(rows)))
        return with_nulls(rows, self.schema)


def with_nulls(rows: pa.Table, schema: Schema) -> pa.Table:
    """Return rows of a table with NULL in the columns that they lack."""
    for column in (column for column in schema if column.name not in rows.column_names):
        rows = rows.append_column(column.name, pa.nulls(len(rows), column.type.arrow))
    return rows.select(schema.names).cast(schema.to_arrow())


@contextmanager
def reading(folder: ExternalPlace, name: str, part_of: int | None = None) -> Iterator[LocalFile]:
    """Open a file on this machine, see `LocalFolder.opened`. DataError if it cannot be read."""
    try:
        with folder.opened(name, part_of) as file:
            yield file
    except OSError as error:
        raise unreadable(named(folder, name), error) from error


def named(folder: ExternalPlace, name: str) -> str:
    """Return the name of a file in messages."""
    return f"{folder.address}/{name}" if name else folder.address


def columns_of(name: str) -> dict[str, str]:
    """Return the columns that the folders of a file provide, with their values as text."""
    parts = (part.partition("=") for part in Path(name).parts[:-1] if "=" in part)
    return {unquote(column): unquote(value) for column, _, value in parts}


def _value(text: str, column: Column, path: str) -> object:
    """Return the value in the name of a folder. DataError if it is not one of the column's type."""
    if text == _NULL and column.nullable:
        return None
    try:
        return parse_line(text, FileLayout(Schema((column,)), delimiter="\0"))[0][0]
    except Malformed as error:
        result = f"the folder {column.name}={text}: {error.reason}"
        raise DataError([Diagnostic(result, path)]) from error


def unreadable(address: str, error: OSError) -> DataError:
    """Return the error for an unreadable file."""
    return DataError([Diagnostic(reason_of(error, address), error.filename or address)])


def arrow_schema_of_file(path: Path, kind: FileKind, place: External) -> pa.Schema:
    """Return the columns of a file. Those of text are nullable, with types inferred from its first part."""

    try:
        if kind is FileKind.TEXT:
            quote = '"' if place.is_on("rfc4180") else False
            form = pyarrow.csv.ParseOptions(delimiter=place.get("delimiter", ","), quote_char=quote)
            truths = pyarrow.csv.ConvertOptions(true_values=["true"], false_values=["false"])
            block = pyarrow.csv.ReadOptions(block_size=_INFERRED)
            result = _declarable(pyarrow.csv.open_csv(path, block, form, truths).schema)
            check_delimiter(path, result.names, form.delimiter)
            return result
        if kind is FileKind.JSON:
            return _declarable(pyarrow.json.open_json(path, pyarrow.json.ReadOptions(block_size=_INFERRED)).schema)
        if kind is FileKind.PARQUET:
            return pq.read_schema(path)
        with pa.memory_map(str(path)) as source:
            return pa.ipc.open_file(source).schema
    except (pa.ArrowException, OSError) as error:
        raise DataError([Diagnostic(f"the columns cannot be read: {error}", str(path))]) from error


def _declarable(schema: pa.Schema) -> pa.Schema:
    """Return inferred columns with text in place of types that tables do not have, or without values."""
    none = pa.types.is_null, pa.types.is_time
    return pa.schema([f.with_type(pa.string()) if any(is_a(f.type) for is_a in none) else f for f in schema])
