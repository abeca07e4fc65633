"""Copies of what was read of files, so that their rows can be taken back when the files are gone."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import asdict

import numpy as np
import pyarrow as pa

from deltic.engine.arrow_stream import of_stream, to_stream
from deltic.engine.files.files import Buffer, Files
from deltic.engine.files.pieces import MAGIC, Mapped, Place, encode, read_piece
from deltic.engine.image import Json
from deltic.errors import StateError

FOLDER = "sources"
_LARGE = 1 << 20


class Copies:
    """The copies of one table's files: pieces with checksums, small ones together, in a folder beside the state."""

    def __init__(self, files: Files, table: str) -> None:
        self._files, self._prefix = files, f"{FOLDER}/{table}-"

    def keep(self, tables: Mapping[str, pa.Table]) -> dict[str, Json]:
        """Write rows by the names of their files, durably; where they stand."""
        places, end = dict[str, Json](), len(MAGIC)
        together, small = self._new(), list[Buffer]([MAGIC])
        for name, rows in tables.items():
            parts, size, checksum = encode({}, {"rows": np.frombuffer(to_stream(rows, compression="zstd"), np.uint8)})
            if size < _LARGE:
                small += parts
                places[name] = asdict(Place(together, end, size, checksum))
                end += size
            else:
                own = self._new()
                self._files.write(own, [MAGIC, *parts])
                places[name] = asdict(Place(own, len(MAGIC), size, checksum))
        if end > len(MAGIC):
            self._files.write(together, small)
        return places

    def rows(self, place: Json) -> pa.Table | None:
        """The rows that were kept; None where they are not there any more, or damaged."""
        try:
            found = read_piece(Mapped(self._files, place["file"]), Place(**place))[1]["rows"]
        except (OSError, StateError):
            return None
        return of_stream(found)

    def collect_garbage(self, kept: Collection[str]) -> None:
        """Remove the files of copies but for these."""
        for name in self._files.names(FOLDER):
            if name.startswith(self._prefix) and len(name) == len(self._prefix) + 32 and name not in kept:
                self._files.remove(name)

    def _new(self) -> str:
        return self._prefix + uuid.uuid4().hex
