"""Folders whose files are read: on this machine, or on another file system, whose files are fetched one by one.

The local copy of a remote file has its size and, at the same offsets, the bytes that were requested. The rest is zeros
that take no space. So code that reads a part of a local file can also read a part of a remote one, which fetches no
more.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pyarrow.parquet as pq

from deltic.engine.files.address import local_path
from deltic.engine.files.object_store import file_system, first_lines, os_errors
from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.layout import FileKind, FileLayout
from deltic.pipeline.io.locate import is_hidden
from deltic.pipeline.io.splits import FileSplit
from deltic.pipeline.spark.sink_log import LOG, complete_files

Stamps = Mapping[str, Sequence[int]]
"""Files by their names in the folder, each with its size and two numbers that change with its content."""

ExternalPlace: TypeAlias = "LocalFolder | RemoteFolder"


def reason_of(error: OSError, address: str) -> str:
    """Return why a place cannot be read. Where a local path names nothing, say what it may be."""
    reason = f"it cannot be read: {error.strerror or first_lines(str(error))}"
    if not isinstance(error, FileNotFoundError) or local_path(address) is None:
        return reason
    if "*" in address:
        return f"{reason}; patterns are not read: name the folder, of which all files are"
    return reason if Path(address).is_absolute() else f"{reason}; relative paths start at {Path.cwd()}"


def place_at(address: str) -> ExternalPlace:
    """Return the place at a path, or at an address such as `s3://bucket/folder`. Raises DelticError."""
    path = local_path(address)
    return RemoteFolder(address) if path is None else LocalFolder(path)


class LocalFolder:
    """A folder on this machine with its sub-folders, or one file, whose name is then empty. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path, self.address = path, str(path)

    def stamps(self) -> Stamps:
        """Return the existing data files."""
        if self.path.is_file():
            return {"": self.stamp("")}
        log = self.path / LOG
        entries = {p.name: p.read_bytes() for p in log.iterdir()} if log.is_dir() else None
        return _complete({str(p.relative_to(self.path)): _stamp(p.stat()) for p in _files(self.path)}, entries)

    def is_delta(self) -> bool:
        """Return whether this is a Delta table."""
        return (self.path / "_delta_log").is_dir()

    def stamp(self, name: str) -> Sequence[int]:
        """Return the stamp of one file."""
        return _stamp((self.path / name if name else self.path).stat())

    @contextmanager
    def opened(self, name: str, part_of: int | None = None) -> Iterator[LocalFile]:
        """Open a file on this machine in a block. DataErrors in it name the original location.

        If only parts of its `part_of` bytes are read, they are fetched on request.
        """
        yield LocalFile(self.path / name if name else self.path)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the data files of a folder and of its sub-folders."""
    for path in sorted(folder.iterdir()):
        if not is_hidden(path):
            if path.is_dir():
                yield from _files(path)
            elif path.is_file():
                yield path


def _complete(stamps: Stamps, log: Mapping[str, bytes] | None) -> Stamps:
    """Return those files that are complete by the log of a stream of Spark, if there is one."""
    if log is None:
        return stamps
    names = complete_files(log)
    return {name: stamp for name, stamp in stamps.items() if name.rpartition("/")[2] in names}


def _stamp(found: os.stat_result) -> list[int]:
    return [found.st_size, found.st_mtime_ns, found.st_ino]


class RemoteFolder:
    """As `LocalFolder`, of another file system. A file has changed if its metadata differ: an ETag, a time."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._system, self._root = file_system(self.address)

    def stamps(self) -> Stamps:
        with os_errors(self.address):
            self._system.invalidate_cache()
            result = self._system.find(self._root, detail=True)
        if not result:
            raise FileNotFoundError(2, "there is no such folder or file, or nothing in it", self.address)
        names = {path: path.rstrip("/")[len(self._root) :].lstrip("/") for path in result}
        stamps = {
            name: _fingerprint(result[path])
            for path, name in names.items()
            if not any(is_hidden(Path(part)) for part in PurePosixPath(name).parts)
        }
        log = {name.rpartition("/")[2]: path for path, name in names.items() if name.startswith(f"{LOG}/")}
        with os_errors(self.address):
            entries = {name: self._system.cat_file(path) for name, path in log.items()}
        return _complete(stamps, entries or None)

    def is_delta(self) -> bool:
        with os_errors(self.address):
            return bool(self._system.exists(f"{self._root}/_delta_log"))

    def stamp(self, name: str) -> Sequence[int]:
        with os_errors(self.address):
            self._system.invalidate_cache()
            return _fingerprint(self._system.info(self._path(name)))

    @contextmanager
    def opened(self, name: str, part_of: int | None = None) -> Iterator[LocalFile]:
        with TemporaryDirectory(prefix="deltic-fetched-") as folder:
            path = Path(folder) / (name or self._root).rpartition("/")[2]
            if part_of is None:
                with os_errors(self._path(name)):
                    self._system.get_file(self._path(name), str(path))
            try:
                yield (
                    LocalFile(path) if part_of is None else FetchedFile(self._system, self._path(name), path, part_of)
                )
            except DataError as error:
                diagnostics = [self._named(finding, path, name) for finding in error.diagnostics]
                raise DataError(diagnostics) from error

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _named(self, finding: Diagnostic, path: Path, name: str) -> Diagnostic:
        is_here = finding.file == str(path)
        return replace(finding, file=f"{self.address}/{name}" if name else self.address) if is_here else finding


# What file systems say of the content of a file; and, where they say nothing of it, what changes when it is rewritten.
_CONTENT = ("ETag", "etag", "e_tag", "generation")
_WRITTEN = ("LastModified", "last_modified", "mtime", "created", "ino")


def _fingerprint(info: Mapping[str, Any]) -> list[int]:
    keys = [key for key in _CONTENT if info.get(key)] or [key for key in _WRITTEN if key in info]
    said = hashlib.sha256(str([(key, str(info[key]).strip('"')) for key in keys]).encode()).digest()
    return [int(info["size"]), int.from_bytes(said[:7], "big"), 0]


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
