"""What shards and the driver send each other: messages, which have rows with them, or name the file of many.

In one process the rows of a message are a table. Through Spark messages travel in the memory of its processes, with few
rows as a stream of Arrow; files of messages stand beside the state, are written once, and read by those tasks that need
their rows. So neither the first load of a table, nor the rows that go from shard to shard, nor the change of a view
passes through the driver or a shuffle when it is large. A file has a name that no other attempt gives, and is garbage
once the epoch is over; who has it open may still read it. Writes are not synced.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from uuid import uuid4

import pyarrow as pa

from deltic.engine.arrow_stream import of_stream, to_stream
from deltic.engine.executors.inline.version import together
from deltic.engine.executors.shards.files import MESSAGES, writing
from deltic.engine.files.files import Buffer, Files
from deltic.engine.files.pieces import MappedFile

DRIVER = -1
"""The stage of messages that are for the driver."""
DIRECT = 1 << 18
"""The bytes of rows that a message has with it at most; also those that a task keeps, or sends to the driver."""
# The most rows of a message.
_MANY = 1 << 17
LOST = "nothing was changed. Something else has removed or changed it; the state's directory is for Deltic alone"


@dataclass(frozen=True)
class Message:
    """Rows for a placed relation on a shard, taken in a stage; for the DRIVER a view's change or an outcome.

    They are a table, or a stream of Arrow: `content`, or a part of a file from byte `start` on, with its CRC-32.
    """

    shard: int
    stage: int
    target: str
    content: bytes = b""
    file: str = ""
    start: int = 0
    size: int = 0
    checksum: int = 0
    table: pa.Table | None = None

    @classmethod
    def of(cls, target: str, shard: int, rows: pa.Table) -> Message:
        """A message within a process, with its rows as they are."""
        return cls(shard, 0, target, table=rows)

    @property
    def rows(self) -> pa.Table:
        """The rows that it has with it; a `Mailbox` reads those of files."""
        return of_stream(self.content) if self.table is None else self.table


def streams_of(target: str, shard: int, stage: int, rows: pa.Table) -> Iterator[Message]:
    """Rows, to arrive in a stage, as streams: a message has no more of them than go well into one."""
    for part in slices(rows.num_rows):
        yield Message(shard, stage, target, to_stream(rows.slice(part.start, part.stop - part.start)).to_pybytes())


def slices(rows: int) -> Iterator[slice]:
    """Those of so many rows that go well into one message each."""
    return (slice(start, min(start + _MANY, rows)) for start in range(0, rows, _MANY))


def sent(files: Files, messages: Sequence[Message], stage: int, direct: int) -> Iterator[Message]:
    """Messages, as they travel to a stage: those of more than `direct` bytes stand in one file together.

    Rows that go to several shards stand there once.
    """
    yield from _as_streams((message for message in messages if message.rows.nbytes <= direct), stage)
    large = defaultdict[int, list[Message]](list)
    for message in messages:
        if message.rows.nbytes > direct:
            large[id(message.rows)].append(message)
    if large:
        there = iter(_in_file(files, _as_streams((same[0] for same in large.values()), stage)))
        for same in large.values():
            for written in islice(there, sum(1 for _ in slices(same[0].rows.num_rows))):
                yield from (replace(written, shard=message.shard, target=message.target) for message in same)


def _as_streams(messages: Iterable[Message], stage: int) -> Iterator[Message]:
    return (part for m in messages for part in streams_of(m.target, m.shard, stage, m.rows))


def together_few(files: Files, messages: Iterable[Message], direct: int) -> list[Message]:
    """The messages as they are, where they have no more than `direct` bytes with them in all; else one file has it."""
    first: list[Message] = []
    size, rest = 0, iter(messages)
    for message in rest:
        first.append(message)
        size += len(message.content)
        if size > direct:
            return _in_file(files, chain(first, rest))
    return first


def _in_file(files: Files, messages: Iterable[Message]) -> list[Message]:
    """The messages, with their rows in a file, which is written as they are made."""
    name, there, end = f"{MESSAGES}/{uuid4().hex}", list[Message](), 0

    def contents() -> Iterator[Buffer]:
        nonlocal end
        for message in messages:
            size, checksum = len(message.content), zlib.crc32(message.content)
            there.append(replace(message, content=b"", file=name, start=end, size=size, checksum=checksum))
            end += size
            yield message.content

    with writing(files):
        files.passing().write(name, contents())
    return there


class Mailbox:
    """Reads messages, whose files it opens once; `remedy` is what is said of one that is not what was written."""

    def __init__(self, files: Files, remedy: str = LOST) -> None:
        self._files, self._remedy, self._opened = files, remedy, dict[str, MappedFile]()

    def rows(self, message: Message) -> pa.Table:
        """The rows of a message; raises StateError where its file cannot be read."""
        return self.reader([message])()

    def reader(self, messages: Sequence[Message]) -> Callable[[], pa.Table]:
        """Reads the rows of messages, however late: their files are opened now."""
        parts = [self._part(message) for message in messages]
        return lambda: together(part() for part in parts)

    def _part(self, message: Message) -> Callable[[], pa.Table]:
        if not message.file:
            return lambda: message.rows
        if message.file not in self._opened:
            self._opened[message.file] = MappedFile(self._files, message.file, self._remedy)
        mapped = self._opened[message.file]

        def read() -> pa.Table:
            data = mapped.part(message.start, message.size)
            if zlib.crc32(data.data) != message.checksum:
                raise mapped.damaged(f"from byte {message.start:,} on stands what was not written")
            return of_stream(data)

        return read
