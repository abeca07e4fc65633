"""Run files: the pieces of an image, one after the other, each with a header that describes it.

A file starts with a line that names the format. A piece is a header, preceded by its length and checksum, and then its
arrays, each at a multiple of 64 bytes of the file, so that they can be used where they are mapped. Checksums are
CRC-32, over header and arrays together.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from deltic.engine.files.files import Buffer, Bytes, Files
from deltic.engine.image import Arrays, Json, Ranges
from deltic.errors import StateError

MAGIC = b"deltic runs 1\n".ljust(64, b"\0")
_ALIGNED = 64
# The length of the header; the checksum of the length, the header and the arrays.
_LENGTH, _SUM = struct.Struct("<Q"), struct.Struct("<I")
_HEAD = _LENGTH.size + _SUM.size
REPAIR = "`deltic verify {place} --repair` rebuilds the state from what is whole"


@dataclass(frozen=True)
class PiecePlace:
    """The location of a piece."""

    file: str
    offset: int
    length: int
    checksum: int


class MappedFile:
    """A file of pieces, opened once; `remedy` is the advice if it is damaged, or has less than `size` bytes."""

    def __init__(self, files: Files, name: str, remedy: str = REPAIR, size: int = 0) -> None:
        self.files, self.name, self._remedy, self._size = files, name, remedy, size
        _OPENED.add(self)
        try:
            self._opened = files.open(name)
        except OSError as error:
            raise self._unreadable(error) from None

    def part(self, start: int, length: int) -> Bytes:
        """Return `length` bytes from `start` on. StateError if they do not exist."""
        try:
            data, size = self._opened.part(start, start + length), self._opened.size
        except OSError as error:
            raise self._unreadable(error) from None
        if len(data) < length or size < self._size:
            where = f"of {self._size:,}" if self._size else f"within the piece at {start:,}"
            raise self.damaged(f"it ends at byte {size:,}, {where}")
        return data

    @property
    def is_far(self) -> bool:
        """Return whether bytes must be fetched before they can be read."""
        return self._opened.is_far

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetch these ranges of bytes at once. StateError if that fails."""
        try:
            self._opened.fetch(ranges)
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: OSError) -> StateError:
        return self.damaged(f"it cannot be read ({error.strerror or error})")

    def damaged(self, what: str) -> StateError:
        """Return the error about the file."""
        place = self.files.place
        return StateError(f"state {place}: {self.name}: {what}; {self._remedy.format(place=place)}")


_OPENED: WeakSet[MappedFile] = WeakSet()


def needed_open(files: Files) -> set[str]:
    """Return the names of files that this process has open, and that could not be read after a removal."""
    if files.keeps_removed:
        return set()
    return {mapped.name for mapped in list(_OPENED) if mapped.files.place == files.place}


class StoredPiece:
    """A piece in a file. Unless it is `trusted`, it is checked when its arrays are first read."""

    def __init__(self, mapped: MappedFile, place: PiecePlace, about: Mapping[str, Json], trusted: bool = False) -> None:
        self.place, self.about, self.files = place, about, mapped.files
        self._mapped, self._trusted, self._arrays = mapped, trusted, dict[str, npt.NDArray[np.generic]]()

    @property
    def is_far(self) -> bool:
        return self._trusted and not self._arrays and self._mapped.is_far

    def arrays(self) -> Arrays:
        if not self._arrays:
            read = arrays_of if self._trusted else read_piece
            self._arrays = read(self._mapped, self.place)[1]
        return self._arrays

    def some(self, ranges: Mapping[str, Ranges]) -> Arrays:
        """Return some elements, see StoredArrays. StateError if the head of the piece is damaged."""
        start, entries = self._head
        cuts = {each["name"]: _Cut(each, start, ranges[each["name"]]) for each in entries if each["name"] in ranges}
        self._mapped.fetch(part for cut in cuts.values() for part in cut.parts)
        return {name: cut.of(self._mapped) for name, cut in cuts.items()}

    @cached_property
    def _head(self) -> tuple[int, Sequence[Mapping[str, Json]]]:
        """The start of the arrays, and their descriptions."""
        length = _length(self._mapped.part(self.place.offset, _HEAD), self._mapped, self.place)
        header = json.loads(self._mapped.part(self.place.offset + _HEAD, length).tobytes())
        return self.place.offset + _HEAD + length, header["arrays"]


class _Cut:
    """Some elements of an array: those in ranges of its last axis. With two axes, they are cut from each row."""

    def __init__(self, entry: Mapping[str, Json], start: int, ranges: Ranges) -> None:
        """Locate the elements of a described array; all arrays start at byte `start`."""
        self._type = np.dtype(entry["type"])
        *rows, count = entry["shape"]
        self._rows, width, first = rows, self._type.itemsize, start + entry["offset"]
        inside = [(low, min(high, count)) for low, high in ranges if low < count]
        self._count = sum(high - low for low, high in inside)
        lines = range(first, first + math.prod(rows) * count * width, count * width) if count else ()
        self.parts = [(line + low * width, line + high * width) for line in lines for low, high in inside]

    def of(self, mapped: MappedFile) -> npt.NDArray[np.generic]:
        """Return the elements, from fetched bytes."""
        data = [mapped.part(start, end - start) for start, end in self.parts]
        result = np.concatenate(data) if data else np.empty(0, np.uint8)
        return result.view(self._type).reshape(*self._rows, self._count)


@dataclass(frozen=True)
class WrittenPieces:
    """The location of an owner's arrays since they were written."""

    files: Files
    place: PiecePlace


def written(kept: object | None) -> WrittenPieces | None:
    """Return the location of an owner's arrays, if they were written."""
    return (
        WrittenPieces(kept.files, kept.place)
        if isinstance(kept, StoredPiece)
        else kept
        if isinstance(kept, WrittenPieces)
        else None
    )


def encode(about: Mapping[str, Json], arrays: Arrays) -> tuple[list[Buffer], int, int]:
    """Return a piece as buffers, with its length and checksum."""
    entries, at = [], 0
    for name, array in arrays.items():
        entries.append({"name": name, "type": array.dtype.str, "shape": array.shape, "offset": at})
        at += _padded(array.nbytes)
    header = json.dumps({"about": about, "arrays": entries}).encode()
    header = header.ljust(_padded(_HEAD + len(header)) - _HEAD)
    parts: list[Buffer] = [header]
    for array in arrays.values():
        if array.nbytes:
            parts += [
                np.ascontiguousarray(array).reshape(-1).view(np.uint8),
                bytes(_padded(array.nbytes) - array.nbytes),
            ]
    checksum = zlib.crc32(_LENGTH.pack(len(header)))
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    parts = [_LENGTH.pack(len(header)), _SUM.pack(checksum), *parts]
    return parts, _HEAD + len(header) + at, checksum


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def read_piece(mapped: MappedFile, place: PiecePlace) -> tuple[Mapping[str, Json], dict[str, npt.NDArray[np.generic]]]:
    """Return the description and arrays of a piece. StateError if it is damaged."""
    data = mapped.part(place.offset, place.length)
    if place.length < _HEAD:
        raise mapped.damaged(f"the piece at byte {place.offset:,} has no head")
    start = data[:_HEAD].tobytes()
    (length,), (checksum,) = _LENGTH.unpack_from(start), _SUM.unpack_from(start, _LENGTH.size)
    result = zlib.crc32(data[_HEAD:].data, zlib.crc32(start[: _LENGTH.size]))
    if not result == checksum == place.checksum:
        raise mapped.damaged(f"the piece at byte {place.offset:,} has another checksum than was written")
    return _header(data, length)


def arrays_of(mapped: MappedFile, place: PiecePlace) -> tuple[Mapping[str, Json], dict[str, npt.NDArray[np.generic]]]:
    """Read like `read_piece`, but only compare the checksum in the head: rows are read when they are used."""
    data = mapped.part(place.offset, place.length)
    return _header(data, _length(data[:_HEAD], mapped, place))


def _length(start: Bytes, mapped: MappedFile, place: PiecePlace) -> int:
    """Return the length of the header of a piece with this start. StateError if it is not what was written."""
    (length,), (checksum,) = _LENGTH.unpack_from(start.tobytes()), _SUM.unpack_from(start.tobytes(), _LENGTH.size)
    if checksum != place.checksum or length > place.length:
        raise mapped.damaged(f"at byte {place.offset:,} stands another piece than was written")
    return int(length)


def _header(data: Bytes, length: int) -> tuple[Mapping[str, Json], dict[str, npt.NDArray[np.generic]]]:
    header = json.loads(data[_HEAD : _HEAD + length].tobytes())
    return header["about"], dict(_arrays(data[_HEAD + length :], header["arrays"]))


def _arrays(data: Bytes, entries: Sequence[Mapping[str, Json]]) -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
    for entry in entries:
        dtype, shape = np.dtype(entry["type"]), tuple(entry["shape"])
        count = int(np.prod(shape))
        result = data[entry["offset"] : entry["offset"] + count * dtype.itemsize]
        yield entry["name"], result.view(dtype).reshape(shape)
