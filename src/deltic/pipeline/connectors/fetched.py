"""Files that are read in parts: those on this machine, and local copies of remote files.

A copy has the size of its file and, at the same offsets, the bytes that were requested. The rest is zeros that take no
space. So code that reads a part of a local file can also read a part of a remote one, which fetches no more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from deltic.engine.files.object_store import os_errors
from deltic.pipeline.io.layout import FileKind, FileLayout
from deltic.pipeline.io.splits import FileSplit

# The bytes that are fetched at once, and the bytes to request if the needed number is unknown.
_BLOCK, _SOME = 1 << 23, 1 << 16
# The bytes after the footer of a Parquet file: its length, and the magic number.
_END = 8


class LocalFile:
    """A file on this machine, which is complete. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def have(self) -> None:
        """Fetch all of it."""

    def have_outline(self, kind: FileKind) -> None:
        """Fetch the description of its parts: the footer of Parquet, the first line of a text."""

    def have_split(self, split: FileSplit, layout: FileLayout) -> None:
        """Fetch a part: lines, the last one with its end, or the table's columns of row groups."""


class FetchedFile(LocalFile):
    """A local copy of a remote file."""

    def __init__(self, system: Any, source: str, path: Path, size: int) -> None:
        super().__init__(path)
        self._system, self._source, self._size = system, source, size
        with path.open("wb") as file:
            file.truncate(size)

    def have(self) -> None:
        self._have(0, self._size)

    def have_outline(self, kind: FileKind) -> None:
        if kind is not FileKind.PARQUET:
            self._have_line(0)
            return
        self._have(self._size - _SOME, self._size)
        with self.path.open("rb") as there:
            there.seek(max(self._size - _END, 0))
            length = int.from_bytes(there.read(_END)[:4], "little")
        self._have(self._size - _END - length, self._size - _SOME)

    def have_split(self, split: FileSplit, layout: FileLayout) -> None:
        if layout.kind is FileKind.PARQUET:
            for group in range(split.start, split.end or 0):
                for start, end in _chunks(self._metadata.row_group(group), layout.schema.names):
                    self._have(start, end)
        else:
            self._have(split.start - 1, self._size if split.end is None else split.end)
            self._have_line(self._size if split.end is None else split.end)

    @cached_property
    def _metadata(self) -> pq.FileMetaData:
        return pq.read_metadata(self.path)

    def _have(self, start: int, end: int) -> None:
        """Fetch the bytes from `start` to `end`."""
        for _ in self._blocks(start, end, _BLOCK):
            pass

    def _have_line(self, start: int) -> None:
        """Fetch the bytes from `start` on, up to and including the next newline."""
        any(b"\n" in block for block in self._blocks(start, self._size, _SOME))

    def _blocks(self, start: int, end: int, size: int) -> Iterator[bytes]:
        """Yield the bytes as they are fetched."""
        start, end = max(start, 0), min(end, self._size)
        with self.path.open("r+b") as file, os_errors(self._source):
            for first in range(start, end, size):
                block = self._system.cat_file(self._source, start=first, end=min(first + size, end))
                file.seek(first)
                file.write(block)
                yield block


def _chunks(group: Any, wanted: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of a row group's wanted columns, including their parts."""
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema.partition(".")[0] in wanted:
            offsets = (column.dictionary_page_offset, column.data_page_offset)
            start = min(offset for offset in offsets if offset is not None)
            yield start, start + column.total_compressed_size
