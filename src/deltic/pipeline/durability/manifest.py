"""Checkpoints, and manifests: each of these lists the contents of one checkpoint, and its position in the log.

The new part of an image goes to new files, and a manifest names these and the earlier ones. Nothing is blocked by it:
an image does not change.

A manifest is one file, JSON after a line with the format's version, a checksum and the length. It appears when it is
complete, has a unique number, and never changes.
"""

from __future__ import annotations

import json
import re
import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from itertools import chain, pairwise
from typing import Self

from deltic.engine.files.contents import ImageContents, contents_of, write_contents
from deltic.engine.files.files import Files
from deltic.engine.files.pieces import REPAIR, needed_open
from deltic.engine.image import Image, Json
from deltic.errors import StateError
from deltic.pipeline.durability import log

FORMAT = 1
FOLDER, RUNS = "manifests", "runs"
_FIRST_LINE = re.compile(rb"deltic manifest (\d+) ([0-9a-f]{8}) (\d+)\n")


class OtherVersion(StateError):
    """A file has another version of the format."""


@dataclass(frozen=True)
class StateDescription:
    """A state without its rows, as of record `sequence` of the log."""

    sequence: int
    epoch: int
    token: str
    positions: Mapping[str, Json]
    options: Mapping[str, Json]
    definitions: Sequence[Json]


@dataclass(frozen=True)
class Manifest(StateDescription):
    """One checkpoint."""

    number: int
    written: str
    engine: Mapping[str, Json] | None
    """The engine's description of its image; None before the first epoch."""
    contents: ImageContents = field(default_factory=ImageContents)

    @property
    def name(self) -> str:
        """The name of its file."""
        return name_of(self.number)

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        fields = asdict(self)
        where = fields.pop("contents")
        body = json.dumps({**fields, **where}, separators=(",", ":")).encode()
        return b"deltic manifest %d %08x %d\n" % (FORMAT, zlib.crc32(body), len(body)) + body

    @classmethod
    def of(cls, data: bytes, name: str, place: str) -> Self:
        """Return the manifest in a file. StateError if it is damaged, or of another version of the format."""
        first = _FIRST_LINE.match(data)
        if first is None:
            raise _damaged(place, name, "it does not begin as a manifest does")
        if int(first[1]) != FORMAT:
            raise OtherVersion(
                f"state {place}: {name} has version {int(first[1])} of the format, and this Deltic reads version "
                f"{FORMAT}; open it with the Deltic that wrote it, or load the tables into a new directory"
            )
        body = data[first.end() :]
        if len(body) != int(first[3]):
            raise _damaged(place, name, f"it has {len(body):,} bytes of {int(first[3]):,}")
        if zlib.crc32(body) != int(first[2], 16):
            raise _damaged(place, name, "it has another checksum than was written")
        result = json.loads(body)
        where = {said.name: result.pop(said.name) for said in fields(ImageContents) if said.name in result}
        return cls(**result, contents=contents_of(where))


def name_of(number: int) -> str:
    """Return the name of the file of the manifest with this number."""
    return f"{FOLDER}/{number:012}"


def numbers(files: Files) -> list[int]:
    """Return the numbers of the existing manifests, the newest first."""
    named = (name.rpartition("/")[2] for name in files.names(FOLDER))
    return sorted((int(name) for name in named if name.isdecimal()), reverse=True)


def read(files: Files, number: int) -> Manifest:
    """Read a manifest. Raises StateError, and FileNotFoundError if it is gone."""
    return Manifest.of(files.read(name_of(number)), name_of(number), files.place)


def _damaged(place: str, name: str, what: str) -> StateError:
    return StateError(f"state {place}: {name}: {what}; {REPAIR.format(place=place)}")


@dataclass(frozen=True)
class CheckpointContents(StateDescription):
    """The contents of a checkpoint; `image` is None before the first epoch."""

    image: Image | None


def write_checkpoint(
    files: Files, number: int, moment: CheckpointContents, before: Manifest | None, compact: bool
) -> Manifest:
    """Write what is new since the manifest `before`, or everything to `compact`, and publish the manifest.

    After an exception, files that no manifest names may be left.
    """
    image, there = moment.image or Image({}), ImageContents() if before is None else before.contents
    prefix = f"{RUNS}/{number:012}-{secrets.token_hex(4)}"
    contents = write_contents(files, prefix, image, None if compact else there)
    made = Manifest(
        **{said.name: getattr(moment, said.name) for said in fields(StateDescription)},
        number=number,
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        engine=image.about if moment.image else None,
        contents=contents,
    )
    files.create(made.name, [made.to_bytes()])
    return made


def collect_garbage(files: Files, keep: int) -> None:
    """Remove all but the newest whole manifests, files that none of them names, and logs that none of them needs.

    The files of a record's rows are removed with the record. Runs of a later checkpoint stay: another process may be
    writing it.
    """
    kept: list[Manifest] = []
    there = numbers(files)
    for number in there:
        try:
            if len(kept) < keep:
                kept.append(read(files, number))
                continue
        except StateError:
            pass
        files.remove(name_of(number))
    named = {name for each in kept for name in each.contents.files} | needed_open(files)
    files.remove(*(name for name in files.names(RUNS) if name not in named and _number(name) <= max(there)))
    oldest = min((each.sequence for each in kept), default=0)
    starts = log.segments(files)
    files.remove(*(name for (_, name), (following, _) in pairwise(starts) if following <= oldest + 1))
    first = min((number for number, _ in log.segments(files)), default=0)
    files.remove(*(name for name in log.rows_of(files, lambda number: number < first) if name not in named))


def _number(name: str) -> int:
    """Return the number of the checkpoint for which a file of runs was written."""
    number = name.rpartition("/")[2].partition("-")[0]
    return int(number) if number.isdecimal() else 0


def leftovers(files: Files) -> Iterable[str]:
    """Return the names of files that were being written when a process ended."""
    names = chain.from_iterable(files.names(folder) for folder in (RUNS, FOLDER, log.FOLDER, log.ROWS))
    return [name for name in names if name.endswith(".part")]
