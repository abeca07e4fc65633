"""The log: the records since the last checkpoint, each on the disk before it is acknowledged.

A record is a transaction, its batches as Arrow streams, or a change of definitions as text. Rows that tasks have
written stay in their files, in a folder beside the log. Their names start with the number of their record, so they
belong to no record before it exists, and are removed with it. Records have consecutive numbers; a file starts with the
number in its name. Each record is preceded by its length and two checksums, of its body and of these fields. So three
cases can be distinguished: a record without its end, which a crash left and which was not acknowledged; one with
another checksum, which was damaged; and a gap, which means that a file is missing.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.engine.batches import Batch, Changed, ConcatenatedBatch, TableBatch, apart, of_stream, to_stream
from deltic.engine.conflicts import Conflicts
from deltic.engine.files.files import Appender, Files
from deltic.engine.files.pieces import REPAIR
from deltic.engine.image import Json
from deltic.errors import StateError

if TYPE_CHECKING:
    from deltic.engine.executors.shards.staged_rows import MessageBatch

FOLDER, ROWS = "log", "rows"
_MAGIC = b"DLOG"
# The version of records with rows in files of their own, and that of others.
_VERSIONS = 2, 1
# Magic, version, length of the body, checksum of the body; then the checksum of these fields.
_HEAD, _SUM = struct.Struct("<4sIQI"), struct.Struct("<I")
_LENGTH = struct.Struct("<I")
_END = b"\xff"
_START = _HEAD.size + _SUM.size
# The number of files of a store that are read at once.
_AT_ONCE = 16
# A disk writes this many bytes at once: after a loss of power, missing bytes are zero from such a border on. No
# record ends with a zero.
_SECTOR = 512


@dataclass(frozen=True)
class Record:
    """One change of the state: of tables, or of definitions. `epoch` is the number of its epoch."""

    sequence: int
    epoch: int
    token: str = ""
    conflicts: Conflicts = "error"
    positions: Mapping[str, Json] = field(default_factory=dict)
    tables: Mapping[str, Batch] | None = None
    """The changes of the tables; None for a change of definitions."""
    edits: tuple[Json, ...] = ()
    """The changes of the definitions, in order. Without these and tables, the record is void."""
    writer: str = ""
    """The identity of the writer, in case two processes believe that they are the writer."""

    @property
    def is_void(self) -> bool:
        """Return whether it changes nothing, and only reserves its number."""
        return self.tables is None and not self.edits

    def kept_in(self, files: Files) -> Record:
        """Return the record after taking over its files of rows that tasks have written. Raises OSError, StateError."""
        prefix = f"{ROWS}/{self.sequence:012}-"
        tables = {
            name: ConcatenatedBatch.of(
                [p if isinstance(p, TableBatch) else _messages(p).adopted(files, prefix, REPAIR) for p in apart(batch)]
            )
            for name, batch in (self.tables or {}).items()
        }
        return replace(self, tables=None if self.tables is None else tables)

    @property
    def in_messages(self) -> list[tuple[str, MessageBatch]]:
        """The rows in files of their own, by table."""
        batches = (self.tables or {}).items()
        return [(name, _messages(p)) for name, batch in batches for p in apart(batch) if not isinstance(p, TableBatch)]

    def check_rows(self) -> None:
        """Read the rows in files of their own. StateError if a file is damaged or missing."""
        for _, rows in self.in_messages:
            for _ in rows.parts():
                pass

    @property
    def nbytes(self) -> int:
        """The size of these files, as far as the record needs them, in bytes."""
        return sum(rows.nbytes for _, rows in self.in_messages)

    def to_bytes(self) -> bytes:
        """Return the record as it is in a file."""
        in_messages = self.in_messages
        streams = [to_stream(_in_memory(batch)) for batch in (self.tables or {}).values()]
        direct = [message.content for _, rows in in_messages for message in rows.messages if not message.file]
        about = {
            "sequence": self.sequence,
            "epoch": self.epoch,
            "token": self.token,
            "conflicts": self.conflicts,
            "positions": self.positions,
            "edits": self.edits,
            "tables": None if self.tables is None else [[n, s.size] for n, s in zip(self.tables, streams, strict=True)],
            **({"writer": self.writer} if self.writer else {}),
            **({"lettered": [[name, _to_json(rows)] for name, rows in in_messages]} if in_messages else {}),
        }
        header = json.dumps(about, separators=(",", ":")).encode()
        body = b"".join([_LENGTH.pack(len(header)), header, *streams, *direct, _END])
        head = _HEAD.pack(_MAGIC, _VERSIONS[not in_messages], len(body), zlib.crc32(body))
        return head + _SUM.pack(zlib.crc32(head)) + body

    @classmethod
    def of(cls, body: bytes, files: Files) -> Record:
        """Return the record with this body; `files` are those of the state."""
        (length,) = _LENGTH.unpack_from(body)
        at = _LENGTH.size + length
        about = json.loads(body[_LENGTH.size : at])
        named, parts = about.pop("tables"), dict[str, list[Batch]]()
        for name, size in named or ():
            parts[name] = [TableBatch(of_stream(pa.py_buffer(body).slice(at, size)))]
            at += size
        for name, entry in about.pop("lettered", ()):
            nothing = parts[name][0].to_arrow().slice(0, 0)
            rows = _from_json(entry, files, nothing, memoryview(body)[at:])
            parts[name].append(rows)
            at += sum(message.size for message in rows.messages if not message.file)
        about["edits"] = tuple(about["edits"])
        tables = {
            name: ConcatenatedBatch.of([p for p in result if p.count()] or result[:1]) for name, result in parts.items()
        }
        return cls(tables=None if named is None else tables, **about)


def _messages(batch: Changed) -> MessageBatch:
    """Return a batch that is not a table in memory."""
    from deltic.engine.executors.shards.staged_rows import MessageBatch

    assert isinstance(batch, MessageBatch)
    return batch


def _in_memory(batch: Batch) -> pa.Table:
    """Return those rows of a batch that are tables in memory."""
    parts = apart(batch)
    tables = [part.to_arrow() for part in parts if isinstance(part, TableBatch)]
    return pa.concat_tables(tables) if tables else _messages(parts[0]).nothing


def _to_json(rows: MessageBatch) -> Json:
    """Describe rows in messages. Messages without a file follow, one after the other."""
    messages = [
        [message.shard, message.file, message.start, message.size or len(message.content), message.checksum]
        for message in rows.messages
    ]
    return {**asdict(rows.split), "rows": rows.count(), "letters": messages}


def _from_json(fields: Json, files: Files, nothing: pa.Table, behind: memoryview) -> MessageBatch:
    """Return the rows of this description."""
    from deltic.engine.executors.shards.messages import Message
    from deltic.engine.executors.shards.staged_rows import MessageBatch, RowSplit

    key = None if fields["key"] is None else tuple(fields["key"])
    split, messages, at = (
        RowSplit(fields["target"], key, fields["shards"], tuple(fields.get("by", ()))),
        list[Message](),
        0,
    )
    for shard, file, start, size, checksum in fields["letters"]:
        content = b"" if file else bytes(behind[at : at + size])
        at += len(content)
        messages.append(Message(shard, 0, split.target, content, file, start, size, checksum))
    return MessageBatch(files, split, messages, fields["rows"], nothing, REPAIR)


@dataclass(frozen=True)
class LogTail:
    """The end of the whole records of a file, and the size of the file."""

    name: str
    end: int
    size: int


class LogReader:
    """Reads records from one number on; `tail` is that of the last file, when all are read.

    A record is done once the next one is requested. A second call of `records` continues after the last one that is
    done. Rows in files of their own are only read `with_rows`.
    """

    def __init__(self, files: Files, after: int, with_rows: bool = False) -> None:
        self.files, self.after, self._with_rows = files, after, with_rows
        self.last = after
        self.bytes = 0
        self.name, self.end = "", 0
        """The file that is read, and the end of its last record that was read."""
        self.tail: LogTail | None = None

    def records(self) -> Iterator[Record]:
        """Yield the non-void records after the last one that was read. StateError if one is damaged or missing."""
        starts = segments(self.files)
        done = sum(following <= self.last + 1 for following, _ in starts[1:])
        for (first, name), data in self._read(starts[done:]):
            if first > self.last + 1:
                raise self._damaged(name, f"the records from {self.last + 1:,} to {first - 1:,} are missing before it")
            yield from self._records(name, data, first, name == starts[-1][1])

    def _read(self, starts: list[tuple[int, str]]) -> Iterator[tuple[tuple[int, str], bytes]]:
        """Yield the files with their contents. In a store, where each record is a file, several are read at once."""
        if self.files.appends:
            yield from ((start, self.files.read(start[1])) for start in starts)
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for at in range(0, len(starts), _AT_ONCE):
                some = starts[at : at + _AT_ONCE]
                yield from zip(some, pool.map(self.files.read, [name for _, name in some]), strict=True)

    def _records(self, name: str, data: bytes, number: int, is_last: bool) -> Iterator[Record]:
        at = 0
        if name == self.name:
            at, number = self.end, self.last + 1
        self.name, self.end = name, at
        while at < len(data):
            body = self._body(name, data, at, is_last)
            if body is None:
                break
            record = Record.of(body, self.files)
            if record.sequence != number:
                raise self._damaged(name, f"at byte {at:,} stands record {record.sequence:,} instead of {number:,}")
            if record.sequence > self.after:
                if self._with_rows:
                    record.check_rows()
                if not record.is_void:
                    yield record
                self.last = record.sequence
                self.bytes += _START + len(body) + record.nbytes
            number += 1
            at += _START + len(body)
            self.end = at
        self.tail = LogTail(name, at, len(data))

    def _body(self, name: str, data: bytes, at: int, is_last: bool) -> bytes | None:
        """Return the body of the record at this position; None if the record is unfinished and ends the file."""
        record, start = f"the record at byte {at:,}", at + _START
        head = data[at : at + _HEAD.size]
        if start <= len(data) and zlib.crc32(head) != _SUM.unpack_from(data, at + _HEAD.size)[0]:
            self._check_unwritten(name, record, is_last, data[at:])
            return None
        magic, version, length, checksum = _HEAD.unpack(head) if start <= len(data) else (_MAGIC, _VERSIONS[0], 1, 0)
        if magic != _MAGIC or version not in _VERSIONS:
            raise StateError(
                f"state {self.files.place}: {name}: {record} has version {version} of the format; this Deltic reads "
                f"versions up to {_VERSIONS[0]}; open the state with the Deltic that wrote it"
            )
        body = data[start : start + length]
        if len(body) < length:
            if not is_last:
                raise self._damaged(name, f"{record} is not whole, and there are later ones")
            return None
        if zlib.crc32(body) != checksum:
            self._check_unwritten(name, record, is_last and start + length == len(data), data[at:])
            return None
        return body

    def _check_unwritten(self, name: str, message: str, is_last: bool, data: bytes) -> None:
        """Raise StateError for a record with a wrong checksum, unless it is the last one and lacks its end."""
        if not is_last or any(data[(len(data) - 1) // _SECTOR * _SECTOR :]):
            raise self._damaged(name, f"{message} has another checksum than was written")

    def _damaged(self, name: str, what: str) -> StateError:
        place = self.files.place
        return StateError(f"state {place}: {name}: {what}; {REPAIR.format(place=place)}")


def segments(files: Files) -> list[tuple[int, str]]:
    """Return the files of the log with the numbers of their first records, in order."""
    named = ((name.rpartition("/")[2], name) for name in files.names(FOLDER))
    return sorted((int(number), name) for number, name in named if number.isdecimal())


def rows_of(files: Files, which: Callable[[int], bool]) -> list[str]:
    """Return the files of rows of the records whose numbers satisfy `which`."""
    named = ((name.rpartition("/")[2].partition("-")[0], name) for name in files.names(ROWS))
    return [name for number, name in named if number.isdecimal() and which(int(number))]


class LogWriter:
    """The end of the log of a writer."""

    def __init__(self, files: Files, last: int, tail: LogTail | None) -> None:
        self._files, self.last = files, last
        self._appender: Appender | None = None
        self._failure = ""
        self._name = tail.name if tail else None
        if tail is not None and tail.end < tail.size:
            files.truncate(tail.name, tail.end)

    def append(self, record: Record) -> int:
        """Write a record durably, and return its size in bytes. After an exception the record does not exist.

        Its number may then be taken by a void record: `last` is the last existing one. Raises OSError, and StateError
        if a file of rows is gone, or nothing can be written any more.
        """
        if self._failure:
            raise StateError(f"state {self._files.place}: {self._failure}")
        try:
            return self._append(replace(record.kept_in(self._files), writer=self._files.writer))
        except (OSError, StateError):
            with suppress(OSError):
                self._files.remove(*rows_of(self._files, lambda number: number == record.sequence))
            raise

    def _append(self, record: Record) -> int:
        data = record.to_bytes()
        if not self._files.appends:
            self._create(record, data)
        else:
            if self._name is None:
                self._name = f"{FOLDER}/{record.sequence:012}"
            if self._appender is None:
                self._appender = self._files.appender(self._name)
            self._appender.append(data)
        self.last = record.sequence
        return len(data) + record.nbytes

    def void(self) -> None:
        """Take the next number, so that no record of another process can. Raises OSError, StateError."""
        self._append(self._void(self.last + 1))

    def _void(self, number: int) -> Record:
        return Record(number, 0, writer=self._files.writer)

    def _create(self, record: Record, data: bytes) -> None:
        """Write a record as a file, if no process has written one with its number."""
        name = f"{FOLDER}/{record.sequence:012}"
        try:
            self._files.create(name, [data])
        except FileExistsError:
            raise self.failed(f"another process has written {name} since this one has it open") from None
        except OSError as error:
            if not self._has_arrived(record, name, data, error):
                raise

    def _has_arrived(self, record: Record, name: str, data: bytes, error: OSError) -> bool:
        """Return whether a record exists although its write failed. If not, a void record takes its number for good."""
        try:
            self._files.create(name, [self._void(record.sequence).to_bytes()])
        except FileExistsError:
            if self._files.read(name) == data:
                return True
            raise self.failed(f"another process has written {name} since this one has it open") from None
        except OSError:
            raise self.failed(
                f"whether {name} was written cannot be known ({error.strerror or error}), so that the log is closed"
            ) from None
        self.last = record.sequence
        return False

    def failed(self, reason: str) -> StateError:
        """Stop writing for good, and return the error with the reason."""
        self._failure = f"{reason}; open the state again"
        return StateError(f"state {self._files.place}: {self._failure}")

    def rotate(self) -> None:
        """Start another file with the next record."""
        self.close()
        self._name = None

    def close(self) -> None:
        """Close the file."""
        if self._appender is not None:
            self._appender.close()
            self._appender = None
