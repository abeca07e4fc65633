"""Manifests: each lists all that belongs to one checkpoint, and what log is behind it.

A manifest is one file, JSON after a line with the format's version, a checksum and the length. It is there once it is
renamed, and never changes.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

from deltic.engine.image import Json
from deltic.errors import StateError
from deltic.pipeline.durable.files import Files
from deltic.pipeline.durable.pieces import REPAIR, Place

FORMAT = 1
FOLDER = "manifests"
_FIRST_LINE = re.compile(rb"deltic manifest (\d+) ([0-9a-f]{8}) (\d+)\n")


class OtherVersion(StateError):
    """A file has another version of the format."""


@dataclass(frozen=True)
class Stretch:
    """The elements of a growing sequence from `start` up to, but not, `end`."""

    place: Place
    start: int
    end: int


@dataclass(frozen=True)
class Described:
    """What is said of a state, but for its rows: the one after the record `sequence` of the log."""

    sequence: int
    epoch: int
    token: str
    positions: Mapping[str, Json]
    options: Mapping[str, Json]
    definitions: Sequence[Json]


@dataclass(frozen=True)
class Manifest(Described):
    """One checkpoint."""

    number: int
    written: str
    engine: Mapping[str, Json] | None
    """What the engine says of its image; None before the first epoch."""
    pieces: Sequence[tuple[Place, Mapping[str, Json]]] = ()
    growing: Mapping[str, Sequence[Stretch]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its file."""
        return name_of(self.number)

    @property
    def places(self) -> list[Place]:
        """Where everything stands that it names."""
        return [place for place, _ in self.pieces] + [s.place for found in self.growing.values() for s in found]

    @property
    def files(self) -> set[str]:
        """The run files that it names."""
        return {place.file for place in self.places}

    def to_bytes(self) -> bytes:
        """The file."""
        body = json.dumps(asdict(self), separators=(",", ":")).encode()
        return b"deltic manifest %d %08x %d\n" % (FORMAT, zlib.crc32(body), len(body)) + body

    @classmethod
    def of(cls, data: bytes, name: str, place: str) -> Self:
        """The manifest in a file; raises StateError for one that is damaged, or of another version of the format."""
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
        found = json.loads(body)
        found["pieces"] = [(Place(**where), about) for where, about in found["pieces"]]
        found["growing"] = {
            name: [Stretch(Place(**s["place"]), s["start"], s["end"]) for s in stretches]
            for name, stretches in found["growing"].items()
        }
        return cls(**found)


def name_of(number: int) -> str:
    """The name of the file of the manifest of that number."""
    return f"{FOLDER}/{number:012}"


def numbers(files: Files) -> list[int]:
    """The numbers of the manifests that are there, the newest first."""
    named = (name.rpartition("/")[2] for name in files.names(FOLDER))
    return sorted((int(name) for name in named if name.isdecimal()), reverse=True)


def read(files: Files, number: int) -> Manifest:
    """A manifest; raises StateError, and FileNotFoundError where it is gone."""
    return Manifest.of(files.read(name_of(number)), name_of(number), files.place)


def _damaged(place: str, name: str, what: str) -> StateError:
    return StateError(f"state {place}: {name}: {what}; {REPAIR.format(place=place)}")
