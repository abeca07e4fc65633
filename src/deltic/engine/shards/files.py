"""The state of a shard on storage that all processes share: run files that never change, and a description of them.

Who writes the state of a shard puts what is not written yet into one new file, under a name that nobody else gives; the
description, which is small, names this file and those of before. A file that no description names is garbage: of a
process that was killed, of an attempt that another one overtook, of an epoch that was aborted.

A directory of a file system is meant: of this machine, or one that every executor sees under the same name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from deltic.engine.image import Arrays, Growing, Image, Json, Saved

_ALIGNED = 64
_SUFFIX = ".runs"


@dataclass(frozen=True)
class Written:
    """Arrays in a file: of each its type, its shape, and the byte where it begins.

    `data` is the file, mapped: it can be read as long as somebody has it, though it was removed by then.
    """

    file: str
    about: Mapping[str, Json]
    told: Mapping[str, Sequence[Json]]
    directory: str
    data: npt.NDArray[np.uint8] | None = None

    def arrays(self) -> Arrays:
        return {name: self._array(*told) for name, told in self.told.items()}

    def _array(self, kind: str, shape: Sequence[int], start: int) -> npt.NDArray[np.generic]:
        if not all(shape):
            return np.empty(shape, np.dtype(kind))
        assert self.data is not None, "what is written is read by those that open it"
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        found: npt.NDArray[np.generic] = self.data[start : start + size].view(kind).reshape(shape)
        return found

    def to_json(self) -> Json:
        """What is said of it; `_Reading` reads that."""
        return [self.file, dict(self.about), dict(self.told)]


class _Reading:
    """The files of a directory, each mapped once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._data: dict[str, npt.NDArray[np.uint8]] = {}

    def piece(self, said: Json) -> Written:
        """What was said by `to_json`."""
        file, about, told = said
        if file not in self._data:
            self._data[file] = np.memmap(self.directory / file, np.uint8, "r").view(np.ndarray)
        return Written(file, about, told, str(self.directory), self._data[file])


class _NewFile:
    """One new file, written piece by piece; it is made when the first piece comes."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.name = directory, f"{uuid4().hex}{_SUFFIX}"
        self._parts: list[npt.NDArray[np.uint8]] = []
        self._end = 0

    def add(self, about: Mapping[str, Json], arrays: Arrays) -> Written:
        """A piece, which is written by `finish`."""
        told = {}
        for name, array in arrays.items():
            told[name] = [array.dtype.str, list(array.shape), self._end]
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            self._parts += [data, np.zeros(-data.size % _ALIGNED, np.uint8)]
            self._end += data.size + -data.size % _ALIGNED
        return Written(self.name, about, told, str(self.directory))

    def finish(self) -> None:
        """Let the file be there, on the disk, whole or not at all."""
        if not self._parts:
            return
        making = self.directory / f"{self.name}.part"
        with making.open("wb") as file:
            for part in self._parts:
                file.write(part.data)
            file.flush()
            os.fsync(file.fileno())
        making.rename(self.directory / self.name)


def write_image(directory: Path, image: Image, before: Json | None) -> Json:
    """Write what is new of an image: its description. `before` describes what growing sequences had, None for nothing.

    Raises OSError where the file cannot be written.
    """
    new = _NewFile(directory)
    pieces = []
    for piece in image.pieces:
        kept = piece.owner.kept
        is_there = isinstance(kept, Written) and kept.directory == str(directory)
        pieces.append(kept if is_there and isinstance(kept, Written) else new.add(piece.about, piece.arrays()))
    old = {} if before is None else before["growing"]
    growing = {name: list(_stretches(sequence, old.get(name, []), new)) for name, sequence in image.growing.items()}
    new.finish()
    for piece, written in zip(image.pieces, pieces, strict=True):
        piece.owner.kept = written
    return {"about": image.about, "pieces": [piece.to_json() for piece in pieces], "growing": growing}


def _stretches(sequence: Growing, before: Sequence[Json], new: _NewFile) -> Iterator[Json]:
    """The stretches of a sequence, each with its start and end: the last ones of before are joined with what is new."""
    stay = [stretch for stretch in before if stretch[1] <= sequence.count]
    while stay and 2 * (sequence.count - stay[-1][1]) > stay[-1][1] - stay[-1][0]:
        stay.pop()
    yield from stay
    start = stay[-1][1] if stay else 0
    if start < sequence.count:
        yield [start, sequence.count, new.add({}, sequence.arrays(start, sequence.count)).to_json()]


def read_image(directory: Path, described: Json) -> Saved:
    """What a description tells of, its files mapped."""
    reading = _Reading(directory)
    pieces = [reading.piece(said) for said in described["pieces"]]
    growing = {
        name: [reading.piece(said) for _, _, said in stretches] for name, stretches in described["growing"].items()
    }
    return Saved(described["about"], pieces, growing)


def files_of(described: Json) -> set[str]:
    """The names of the files that a description needs."""
    stretches = [said for found in described["growing"].values() for _, _, said in found]
    return {said[0] for said in (*described["pieces"], *stretches)}


def collect_garbage(directory: Path, needed: Collection[str]) -> None:
    """Remove the files of a directory that are not needed; to be called while nobody writes there."""
    for path in directory.iterdir():
        if path.suffix in (_SUFFIX, ".shard", ".part") and path.name not in needed:
            path.unlink(missing_ok=True)


# Descriptions


def write_description(directory: Path, described: Json) -> str:
    """Write a description into a file of its own: the name."""
    name = f"{uuid4().hex}.shard"
    making = directory / f"{name}.part"
    making.write_text(json.dumps(described), encoding="utf-8")
    making.rename(directory / name)
    return name


def read_description(directory: Path, name: str) -> Json:
    """A description that was written."""
    return json.loads((directory / name).read_text(encoding="utf-8"))
