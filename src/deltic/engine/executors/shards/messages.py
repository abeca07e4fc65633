"""Messages between shards and the driver, which contain rows or name a file with rows.

In one process a message has rows as they are in a store, or as a table. In Spark, messages with few rows travel in the
memory of its processes as an Arrow stream. Files of messages are beside the state, written once, and read by the tasks
that need their rows. So large loads, exchanges and changes of views pass neither through the driver nor through a
shuffle. Each attempt writes files with unique names, which are garbage after the epoch; open files stay readable.
Writes are not synced.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from uuid import uuid4

import pyarrow as pa

from deltic.engine.batches import of_stream, to_stream
from deltic.engine.executors.shards.encoded_rows import EncodedRows, Rows
from deltic.engine.executors.shards.files import MESSAGES, writing
from deltic.engine.files.files import Buffer, Files
from deltic.engine.files.pieces import MappedFile
from deltic.engine.state_version import together

DRIVER = -1
"""The stage of messages that are for the driver."""
DIRECT = 1 << 18
"""The most bytes of rows in a message itself, and the most that a task keeps, or sends to the driver."""
# The most rows of a message.
_MANY = 1 << 17
LOST = "nothing was changed. Something else has removed or changed it; the state's directory is for Deltic alone"


@dataclass(frozen=True)
class Message:
    """Rows for a placed relation on a shard, taken in a stage; for the DRIVER, a view's change or an outcome.

    They are `given` as they are, or an Arrow stream: `content`, or a part of a file from byte `start` on, with its
    CRC-32.
    """

    shard: int
    stage: int
    target: str
    content: bytes = b""
    file: str = ""
    start: int = 0
    size: int = 0
    checksum: int = 0
    given: Rows | None = None

    @classmethod
    def of(cls, target: str, shard: int, rows: Rows) -> Message:
        """Return a message within a process."""
        return cls(shard, 0, target, given=rows)

    @property
    def given_rows(self) -> Rows:
        """The rows in the message itself, as they are in it."""
        return of_stream(self.content) if self.given is None else self.given

    @property
    def rows(self) -> pa.Table:
        """The rows in the message itself, as a table; a `Mailbox` reads those in files."""
        return rows.table if isinstance(rows := self.given_rows, EncodedRows) else rows


def streams_of(target: str, shard: int, stage: int, rows: pa.Table) -> Iterator[Message]:
    """Yield rows for a stage as messages with streams, a limited number of rows in each."""
    for part in slices(rows.num_rows):
        yield Message(shard, stage, target, to_stream(rows.slice(part.start, part.stop - part.start)).to_pybytes())


def slices(rows: int) -> Iterator[slice]:
    """Yield the slices of rows for one message each."""
    return (slice(start, min(start + _MANY, rows)) for start in range(0, rows, _MANY))


def sent(files: Files, messages: Sequence[Message], stage: int, direct: int) -> Iterator[Message]:
    """Yield messages in the form in which they travel to a stage. Those of more than `direct` bytes share one file.

    Rows that go to several shards are in the file once.
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
    """Return the messages unchanged if their contents have at most `direct` bytes in total; otherwise move these to a
    file.
    """
    first: list[Message] = []
    size, rest = 0, iter(messages)
    for message in rest:
        first.append(message)
        size += len(message.content)
        if size > direct:
            return _in_file(files, chain(first, rest))
    return first


def _in_file(files: Files, messages: Iterable[Message]) -> list[Message]:
    """Write the rows of messages to a file, and return the messages that name it."""
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
    """Reads messages, and opens each file once. `remedy` is the advice in errors about a damaged file."""

    def __init__(self, files: Files, remedy: str = LOST) -> None:
        self._files, self._remedy, self._opened = files, remedy, dict[str, MappedFile]()

    def rows(self, message: Message) -> pa.Table:
        """Return the rows of a message. StateError if its file cannot be read."""
        return self.reader([message])()

    def reader(self, messages: Sequence[Message]) -> Callable[[], pa.Table]:
        """Return a function that reads the rows of messages later. It opens their files now."""
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
