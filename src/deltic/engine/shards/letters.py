"""What shards and the driver send each other: letters, which have few rows with them, and name the file of many.

Letters travel through Spark, in the memory of its processes; files of letters stand beside the state, are written once,
and read by those tasks that need their rows. So neither the first load of a table, nor the rows that go from shard to
shard, nor the change of a view passes through the driver or a shuffle when it is large. A file has a name that no other
attempt gives, and is garbage once the epoch is over; who has it open may still read it. Nobody waits for the disk.
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
from deltic.engine.files.files import Buffer, Files
from deltic.engine.files.pieces import Mapped
from deltic.engine.shards.exchange import Parcel
from deltic.engine.shards.files import LETTERS, writing
from deltic.engine.shards.version import together

DRIVER = -1
"""The stage of letters that are for the driver."""
DIRECT = 1 << 18
"""The bytes of rows that a letter has with it at most; also those that a task keeps for later, or tells the driver."""
# The most rows of a letter.
_MANY = 1 << 17
LOST = "nothing was changed. Somebody else has removed or changed it, as the state's directory is for Deltic alone"


@dataclass(frozen=True)
class Letter:
    """What is sent to a shard for a stage, rows of a placed relation; for the DRIVER a view's change or an outcome.

    What it holds, a stream of Arrow, is in it, or in a file, from byte `start` on, with a checksum, its CRC-32.
    """

    shard: int
    stage: int
    target: str
    content: bytes = b""
    file: str = ""
    start: int = 0
    size: int = 0
    checksum: int = 0


def letters_of(target: str, shard: int, stage: int, rows: pa.Table) -> Iterator[Letter]:
    """Rows, to arrive in a stage, in letters of no more than go well into one, which have them with them."""
    for part in slices(rows.num_rows):
        yield Letter(shard, stage, target, to_stream(rows.slice(part.start, part.stop - part.start)).to_pybytes())


def slices(rows: int) -> Iterator[slice]:
    """Those of so many rows that go well into one letter each."""
    return (slice(start, min(start + _MANY, rows)) for start in range(0, rows, _MANY))


def sent(files: Files, parcels: Sequence[Parcel], stage: int, direct: int) -> Iterator[Letter]:
    """Parcels to arrive in a stage: those of more than `direct` bytes stand in one file together.

    Rows that go to several shards stand there once.
    """
    yield from _of_parcels((parcel for parcel in parcels if parcel.rows.nbytes <= direct), stage)
    large = defaultdict[int, list[Parcel]](list)
    for parcel in parcels:
        if parcel.rows.nbytes > direct:
            large[id(parcel.rows)].append(parcel)
    if large:
        there = iter(_in_file(files, _of_parcels((same[0] for same in large.values()), stage)))
        for same in large.values():
            for letter in islice(there, sum(1 for _ in slices(same[0].rows.num_rows))):
                yield from (replace(letter, shard=parcel.shard, target=parcel.target) for parcel in same)


def _of_parcels(parcels: Iterable[Parcel], stage: int) -> Iterator[Letter]:
    return (letter for p in parcels for letter in letters_of(p.target, p.shard, stage, p.rows))


def together_few(files: Files, letters: Iterable[Letter], direct: int) -> list[Letter]:
    """The letters as they are, where they have no more than `direct` bytes with them in all; else one file has it."""
    first: list[Letter] = []
    size, rest = 0, iter(letters)
    for letter in rest:
        first.append(letter)
        size += len(letter.content)
        if size > direct:
            return _in_file(files, chain(first, rest))
    return first


def _in_file(files: Files, letters: Iterable[Letter]) -> list[Letter]:
    """The letters, with what they have with them in a file, which is written as they are made."""
    name, there, end = f"{LETTERS}/{uuid4().hex}", list[Letter](), 0

    def contents() -> Iterator[Buffer]:
        nonlocal end
        for letter in letters:
            size, checksum = len(letter.content), zlib.crc32(letter.content)
            there.append(replace(letter, content=b"", file=name, start=end, size=size, checksum=checksum))
            end += size
            yield letter.content

    with writing(files):
        files.passing().write(name, contents())
    return there


class Mailbox:
    """Reads letters, whose files it opens once; `remedy` is what is said of one that is not what was written."""

    def __init__(self, files: Files, remedy: str = LOST) -> None:
        self._files, self._remedy, self._opened = files, remedy, dict[str, Mapped]()

    def rows(self, letter: Letter) -> pa.Table:
        """What a letter holds; raises StateError where its file cannot be read."""
        return self.reader([letter])()

    def reader(self, letters: Sequence[Letter]) -> Callable[[], pa.Table]:
        """What gives the rows of letters, however late: their files are opened now."""
        parts = [self._part(letter) for letter in letters]
        return lambda: together(part() for part in parts)

    def _part(self, letter: Letter) -> Callable[[], pa.Table]:
        if not letter.file:
            return lambda: of_stream(letter.content)
        if letter.file not in self._opened:
            self._opened[letter.file] = Mapped(self._files, letter.file, self._remedy)
        mapped = self._opened[letter.file]

        def read() -> pa.Table:
            data = mapped.part(letter.start, letter.size)
            if zlib.crc32(data.data) != letter.checksum:
                raise mapped.damaged(f"from byte {letter.start:,} on stands what was not written")
            return of_stream(data)

        return read
