"""Copies of rows that were read from files, so that they can be deleted when the files are gone."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from dataclasses import asdict

import numpy as np
import pyarrow as pa

from deltic.engine.batches import of_stream, to_stream
from deltic.engine.files.files import Buffer, Files
from deltic.engine.files.pieces import MAGIC, MappedFile, PiecePlace, encode, read_piece
from deltic.engine.image import Json
from deltic.errors import StateError

FOLDER = "sources"
_LARGE = 1 << 20


class CopyWriter:
    """Writes copies as pieces with checksums, small ones together, into files whose names start with `prefix`."""

    def __init__(self, files: Files, prefix: str) -> None:
        self._files, self._prefix = files, prefix
        self._begin()

    def _begin(self) -> None:
        self._name, self._end, self._small = self._new(), len(MAGIC), list[Buffer]([MAGIC])

    def add(self, rows: pa.Table) -> Json:
        """Write rows, and return their location. Small ones are written together, by `finish`."""
        parts, size, checksum = encode({}, {"rows": np.frombuffer(to_stream(rows, compression="zstd"), np.uint8)})
        if size >= _LARGE:
            name = self._new()
            self._files.write(name, [MAGIC, *parts])
            return asdict(PiecePlace(name, len(MAGIC), size, checksum))
        place = PiecePlace(self._name, self._end, size, checksum)
        self._small += parts
        self._end += size
        if self._end >= _LARGE:
            self.finish()
        return asdict(place)

    def finish(self) -> None:
        """Write the rest."""
        if self._end > len(MAGIC):
            self._files.write(self._name, self._small)
            self._begin()

    def _new(self) -> str:
        return self._prefix + uuid.uuid4().hex


def copied(files: Files, place: Json) -> pa.Table | None:
    """Return the rows at a location; None if they are gone or damaged."""
    try:
        result = read_piece(MappedFile(files, place["file"]), PiecePlace(**place))[1]["rows"]
    except (OSError, StateError):
        return None
    return of_stream(result)


class FileCopies:
    """The copies of one table's files, in a folder beside the state; a file has several copies, one for each part."""

    def __init__(self, files: Files, table: str) -> None:
        self._files, self.prefix = files, f"{FOLDER}/{table}-"

    def writer(self) -> CopyWriter:
        """Return a durable writer of copies."""
        return CopyWriter(self._files, self.prefix)

    def rows(self, place: Json) -> pa.Table | None:
        """Return stored rows; None if they are gone or damaged."""
        return copied(self._files, place)

    def lend(self, other: Files, places: Iterable[Json]) -> bool:
        """Copy files to another place under the same names. Return whether all existed."""
        try:
            for name in sorted({place["file"] for place in places}):
                other.adopt(self._files, name, name)
        except FileNotFoundError:
            return False
        return True

    def take(self, other: Files, places: Iterable[Json]) -> None:
        """Take over copies that were written elsewhere, durably."""
        for name in sorted({place["file"] for place in places}):
            self._files.adopt(other, name, name)

    def collect_garbage(self, kept: Collection[str]) -> None:
        """Remove all files of copies except these."""
        for name in self._files.names(FOLDER):
            if name.startswith(self.prefix) and len(name) == len(self.prefix) + 32 and name not in kept:
                self._files.remove(name)
