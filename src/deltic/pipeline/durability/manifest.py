"""Manifests: each lists the contents of one checkpoint, and its position in the log.

A manifest is one file, JSON after a line with the format's version, a checksum and the length. It appears when it is
complete, has a unique number, and never changes.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Self

from deltic.engine.files.contents import ImageContents, contents_of
from deltic.engine.files.files import Files
from deltic.engine.files.pieces import REPAIR
from deltic.engine.image import Json
from deltic.errors import StateError

FORMAT = 1
FOLDER = "manifests"
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
