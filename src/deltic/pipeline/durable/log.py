"""The log: what came since the last checkpoint, record by record, each on the disk before it is acknowledged.

A record is a transaction, its batches as Arrow streams, or a change of definitions as text. Records have consecutive
numbers; a file begins with the number in its name. Before each record stand its length and checksums, of itself and of
these numbers, so that three cases are told apart: a record whose end is not there, or was never written, is the crash's
own and was not acknowledged; one with another checksum was damaged; a gap means that a file is missing.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from deltic.engine.arrow_stream import of_stream, to_stream
from deltic.engine.batches import TableBatch
from deltic.engine.files.files import Appender, Files
from deltic.engine.files.pieces import REPAIR
from deltic.engine.image import Json
from deltic.engine.protocol import Conflicts
from deltic.errors import StateError

FOLDER = "log"
_MAGIC = b"DLOG"
_VERSION = 1
# Magic, version, length of the body, checksum of the body; then the checksum of these.
_HEAD, _SUM = struct.Struct("<4sIQI"), struct.Struct("<I")
_LENGTH = struct.Struct("<I")
_END = b"\xff"
_START = _HEAD.size + _SUM.size
# A disk writes so many bytes at once: after a loss of power those that are missing are zero from such a border on. No
# record ends with a zero.
_SECTOR = 512


@dataclass(frozen=True)
class Record:
    """One change of the state: of tables, or of definitions. `epoch` is the number of the epoch that it was."""

    sequence: int
    epoch: int
    token: str = ""
    conflicts: Conflicts = "error"
    positions: Mapping[str, Json] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] | None = None
    """The changes of the tables; None for a change of definitions."""
    edits: tuple[Json, ...] = ()
    """What became of the definitions, in order."""

    def to_bytes(self) -> bytes:
        """The record as it stands in a file."""
        streams = [to_stream(table) for table in (self.tables or {}).values()]
        about = {
            "sequence": self.sequence,
            "epoch": self.epoch,
            "token": self.token,
            "conflicts": self.conflicts,
            "positions": self.positions,
            "edits": self.edits,
            "tables": None if self.tables is None else [[n, s.size] for n, s in zip(self.tables, streams, strict=True)],
        }
        header = json.dumps(about, separators=(",", ":")).encode()
        body = b"".join([_LENGTH.pack(len(header)), header, *streams, _END])
        head = _HEAD.pack(_MAGIC, _VERSION, len(body), zlib.crc32(body))
        return head + _SUM.pack(zlib.crc32(head)) + body

    @classmethod
    def of(cls, body: bytes) -> Record:
        """The record with this body."""
        (length,) = _LENGTH.unpack_from(body)
        at = _LENGTH.size + length
        about = json.loads(body[_LENGTH.size : at])
        named, tables = about.pop("tables"), dict[str, pa.Table]()
        for name, size in named or ():
            tables[name] = of_stream(pa.py_buffer(body).slice(at, size))
            at += size
        about["edits"] = tuple(about["edits"])
        return cls(tables=None if named is None else tables, **about)

    @property
    def batches(self) -> dict[str, TableBatch]:
        """The changes of the tables as an engine takes them."""
        return {name: TableBatch(table) for name, table in (self.tables or {}).items()}


@dataclass(frozen=True)
class Tail:
    """Where the whole records of a file end, and the bytes of the file."""

    name: str
    end: int
    size: int


class Reader:
    """Reads records from one number on; `tail` is that of the last file, when all are read.

    Asked again, it goes on behind those that it has read.
    """

    def __init__(self, files: Files, after: int) -> None:
        self.files, self.after = files, after
        self.last = after
        self.bytes = 0
        self.name, self.end = "", 0
        """The file that is read, and where the last of its records ends that was."""
        self.tail: Tail | None = None

    def records(self) -> Iterator[Record]:
        """The records behind `after`; raises StateError where one is damaged or missing."""
        starts = segments(self.files)
        for i, (first, name) in enumerate(starts):
            is_last = i + 1 == len(starts)
            if not is_last and starts[i + 1][0] <= self.last + 1:
                continue
            if first > self.last + 1:
                raise self._damaged(name, f"the records from {self.last + 1:,} to {first - 1:,} are missing before it")
            yield from self._records(name, first, is_last)

    def _records(self, name: str, number: int, is_last: bool) -> Iterator[Record]:
        data, at = self.files.read(name), 0
        if name == self.name:
            at, number = self.end, self.last + 1
        self.name, self.end = name, at
        while at < len(data):
            body = self._body(name, data, at, is_last)
            if body is None:
                break
            record = Record.of(body)
            if record.sequence != number:
                raise self._damaged(name, f"at byte {at:,} stands record {record.sequence:,} instead of {number:,}")
            number += 1
            at += _START + len(body)
            self.end = at
            if record.sequence > self.after:
                self.last = record.sequence
                self.bytes += _START + len(body)
                yield record
        self.tail = Tail(name, at, len(data))

    def _body(self, name: str, data: bytes, at: int, is_last: bool) -> bytes | None:
        """The body of the record at a place; None where it ends the file unfinished."""
        told, start = f"the record at byte {at:,}", at + _START
        head = data[at : at + _HEAD.size]
        if start <= len(data) and zlib.crc32(head) != _SUM.unpack_from(data, at + _HEAD.size)[0]:
            self._check_unwritten(name, told, is_last, data[at:])
            return None
        magic, version, length, checksum = _HEAD.unpack(head) if start <= len(data) else (_MAGIC, _VERSION, 1, 0)
        if magic != _MAGIC or version != _VERSION:
            raise StateError(
                f"state {self.files.place}: {name}: {told} has version {version} of the format, and this Deltic reads "
                f"version {_VERSION}; open the state with the Deltic that wrote it"
            )
        body = data[start : start + length]
        if len(body) < length:
            if not is_last:
                raise self._damaged(name, f"{told} is not whole, and there are later ones")
            return None
        if zlib.crc32(body) != checksum:
            self._check_unwritten(name, told, is_last and start + length == len(data), data[at:])
            return None
        return body

    def _check_unwritten(self, name: str, told: str, is_last: bool, data: bytes) -> None:
        """Raises StateError for a record with another checksum, but for the last one when its end was not written."""
        if not is_last or any(data[(len(data) - 1) // _SECTOR * _SECTOR :]):
            raise self._damaged(name, f"{told} has another checksum than was written")

    def _damaged(self, name: str, what: str) -> StateError:
        place = self.files.place
        return StateError(f"state {place}: {name}: {what}; {REPAIR.format(place=place)}")


def segments(files: Files) -> list[tuple[int, str]]:
    """The files of the log with the numbers of their first records, in order."""
    named = ((name.rpartition("/")[2], name) for name in files.names(FOLDER))
    return sorted((int(number), name) for number, name in named if number.isdecimal())


class Log:
    """The end of the log of a writer."""

    def __init__(self, files: Files, last: int, tail: Tail | None) -> None:
        self._files, self.last = files, last
        self._appender: Appender | None = None
        self._name = tail.name if tail else None
        if tail is not None and tail.end < tail.size:
            files.truncate(tail.name, tail.end)

    def append(self, record: Record) -> int:
        """Write a record, durably; the bytes that it takes. After an OSError it is not there."""
        data = record.to_bytes()
        if self._name is None or not self._files.appends:
            self._name = f"{FOLDER}/{record.sequence:012}"
        if not self._files.appends:
            self._files.write(self._name, [data])
        else:
            if self._appender is None:
                self._appender = self._files.appender(self._name)
            self._appender.append(data)
        self.last = record.sequence
        return len(data)

    def rotate(self) -> None:
        """Begin another file with the next record."""
        self.close()
        self._name = None

    def close(self) -> None:
        """Let go of the file."""
        if self._appender is not None:
            self._appender.close()
            self._appender = None
