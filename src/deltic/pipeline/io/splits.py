"""Splits files into parts that are read independently, in this process or by Spark tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.blocks import beginning, blocks, can_be_cut
from deltic.pipeline.io.columns import conformed
from deltic.pipeline.io.json_array import is_array, read_array
from deltic.pipeline.io.layout import FileKind, FileLayout
from deltic.pipeline.io.locate import TableFiles
from deltic.pipeline.io.parsed import ParsedRows, arrow_schema, concatenated
from deltic.pipeline.io.records import may_have_lines, whole_rows
from deltic.pipeline.io.rounding import can_round
from deltic.pipeline.io.stretch import parse
from deltic.pipeline.io.text import check_types, header_hint
from deltic.values.types import Column, Type


@dataclass(frozen=True)
class FileSplit:
    """A part of a file: the lines that start in these bytes, or these row groups of Parquet; None is the end."""

    name: str
    """The name of the file in messages."""
    path: Path
    """The absolute path."""
    start: int = 0
    end: int | None = None


def splits(files: TableFiles, size: int | None = None) -> Iterator[FileSplit]:
    """Yield the whole files, or, with a `size`, parts of about this many bytes if files can be cut.

    Raises DataError for a file that cannot hold rows of the table, UnsupportedError for a column that text cannot hold.
    """
    if files.layout.kind is FileKind.TEXT:
        check_types(files.layout)
    for path in files.paths:
        try:
            yield from (FileSplit(str(path), path.absolute(), *part) for part in _parts(path, files.layout, size))
        except OSError as error:
            raise _unreadable(str(path), error) from error


def read(split: FileSplit, layout: FileLayout) -> Iterator[ParsedRows]:
    """Yield the rows of a part in batches. The lines of findings are counted from the part's first one."""
    try:
        if layout.kind is FileKind.PARQUET:
            from deltic.pipeline.io.columnar import read_parquet

            yield from read_parquet(split.path, range(split.start, split.end or 0), layout, split.name)
        elif layout.kind is FileKind.ARROW:
            from deltic.pipeline.io.columnar import read_arrow

            yield from read_arrow(split.path, layout, split.name)
        elif layout.kind is FileKind.SQLITE:
            from deltic.pipeline.io.sqlite import read_sqlite

            yield from read_sqlite(split.path, layout, split.name)
        else:
            yield from _read_lines(split, layout)
    except OSError as error:
        raise _unreadable(split.name, error) from error


def joined(parts: Iterable[tuple[FileSplit, ParsedRows]], layout: FileLayout, limit: int | None) -> ParsedRows:
    """Return batches, in the order of the files, as one, up to the one with malformed row number `limit` + 1.

    At most `limit` + 1 findings are returned, with the lines of their files.
    """
    tables, rejects = [arrow_schema(layout.schema, layout.signed).empty_table()], list[Diagnostic]()
    most = None if limit is None else limit + 1
    last, before, lines = None, 0, 0
    for split, batch in parts:
        if split is not last:
            last, before, lines = split, before + lines if split.start else 0, 0
        tables.append(batch.table)
        rejects += [_in_file(finding, before, layout) for finding in batch.rejects]
        lines += batch.lines
        if len(rejects[:most]) == most:
            break
    return ParsedRows(concatenated(tables), tuple(rejects[:most]))


class ArrowReader:
    """Reads in this process."""

    def read(self, files: TableFiles, limit: int | None) -> ParsedRows:
        """Return the rows of the files. Reading stops when more than `limit` rows are malformed (None: never).

        Raises DataError if a file as a whole cannot hold rows of the table.
        """
        parts = ((split, batch) for split in splits(files) for batch in read(split, files.layout))
        return joined(parts, files.layout, limit)


def _parts(path: Path, layout: FileLayout, size: int | None) -> Iterator[tuple[int, int | None]]:
    """Yield the start and end of each part of a file."""
    if layout.kind is FileKind.PARQUET:
        from deltic.pipeline.io.columnar import row_groups

        groups = row_groups(path, layout)
        yield from ((group, group + 1) for group in range(groups)) if size else ((0, groups),)
    elif size and _has_lines(layout) and can_be_cut(path) and not (_may_be_array(layout) and is_array(beginning(path))):
        yield from ((start, start + size) for start in range(0, path.stat().st_size, size))
    else:
        yield 0, None


def _has_lines(layout: FileLayout) -> bool:
    """Return whether every line of a file is a row."""
    return layout.kind in (FileKind.TEXT, FileKind.JSON) and not may_have_lines(layout)


def _may_be_array(layout: FileLayout) -> bool:
    return layout.kind is FileKind.JSON and not layout.signed


def _read_lines(split: FileSplit, layout: FileLayout) -> Iterator[ParsedRows]:
    first = 1
    stretches = blocks(split.path, split.start, split.end)
    if may_have_lines(layout):
        stretches = whole_rows(stretches, layout)
    for block in stretches:
        if _may_be_array(layout) and first == 1 and not split.start and is_array(block):
            yield read_array(b"".join([block, *stretches]), layout, split.name)
            return
        lines = block
        if layout.headers and first == 1 and not split.start:
            lines, first = block[block.index(b"\n") + 1 :], 2
            yield ParsedRows(arrow_schema(layout.schema, layout.signed).empty_table(), lines=1)
        yield from _parsed(lines, first, layout, split.name)
        first += lines.count(b"\n")


def _parsed(lines: bytes, first: int, layout: FileLayout, file: str) -> Iterator[ParsedRows]:
    """Yield the rows of whole lines; of delimited text whose values are rounded, the fields are read as texts."""
    if layout.rounding is None or layout.kind is FileKind.JSON:
        yield from parse(lines, first, layout, file)
        return
    for part in parse(lines, first, _as_texts(layout), file):
        rows = conformed(part.table, layout, file, first)
        yield replace(rows, rejects=(*part.rejects, *rows.rejects), lines=part.lines)
        first += part.lines


def _in_file(finding: Diagnostic, before: int, layout: FileLayout) -> Diagnostic:
    """Return a finding with its line counted from the file's first, given the number of lines `before` the part."""
    finding = replace(finding, line=finding.line + before)
    if layout.kind is FileKind.TEXT and finding.line == 1 and not finding.hint:
        return replace(finding, hint=header_hint(finding.source, layout))
    return finding


def _unreadable(file: str, error: OSError) -> DataError:
    return DataError([Diagnostic(f"the file cannot be read: {error.strerror or error}", file)])


def _as_texts(layout: FileLayout) -> FileLayout:
    """Return the layout by which delimited text is read that `Rounding` then makes values of."""
    columns = (
        Column(column.name, Type.STRING, True) if can_round(pa.string(), column.type) else column
        for column in layout.schema
    )
    return replace(layout, schema=type(layout.schema)(tuple(columns)), rounding=None)
