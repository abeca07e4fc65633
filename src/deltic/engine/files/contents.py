"""The location of an image's pieces in files: it is written piece by piece, and existing pieces are not written again.

Small pieces share one file, large ones have a file each. If most of a file is no longer used, the rest moves. Pieces in
files of another place are taken from there: by a link, or by a copy within the file system. Stretches of growing
sequences are joined so that each is at least twice as long as the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deltic.engine.files.files import Buffer, Files
from deltic.engine.files.pieces import (
    MAGIC,
    REPAIR,
    MappedFile,
    PiecePlace,
    StoredPiece,
    WrittenPieces,
    encode,
    written,
)
from deltic.engine.image import Arrays, GrowingSequence, Image, ImagePiece, Json, Saved

_LARGE = 1 << 20
# The share of a file that must be in use for the file to stay.
_USED = 0.5


@dataclass(frozen=True)
class SequenceSlice:
    """The elements [start, end) of a growing sequence; `origin` is the sequence's."""

    place: PiecePlace
    start: int
    end: int
    origin: str = ""

    @property
    def about(self) -> Mapping[str, Json]:
        """Return the description of its piece."""
        return {"from": self.start, "to": self.end, "origin": self.origin}


@dataclass(frozen=True)
class ImageContents:
    """The locations of an image's pieces and of its sequences' stretches; `sizes` are the files', in bytes."""

    pieces: Sequence[tuple[PiecePlace, Mapping[str, Json]]] = ()
    growing: Mapping[str, Sequence[SequenceSlice]] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def places(self) -> list[PiecePlace]:
        """The locations of all pieces and stretches."""
        return [place for place, _ in self.pieces] + [s.place for result in self.growing.values() for s in result]

    @property
    def files(self) -> set[str]:
        """The names of the files."""
        return {place.file for place in self.places}

    @property
    def nbytes(self) -> int:
        """The size of all pieces, in bytes."""
        return sum(place.length for place in self.places)

    def saved(self, files: Files, about: Mapping[str, Json], remedy: str = REPAIR, trusted: bool = False) -> Saved:
        """Return the saved image, which the engine describes by `about`; for the rest see `MappedFile` and
        `StoredPiece`.
        """
        sizes = self.sizes if trusted else {}
        mapped = {name: MappedFile(files, name, remedy, sizes.get(name, 0)) for name in sorted(self.files)}
        pieces = [StoredPiece(mapped[place.file], place, entry, trusted) for place, entry in self.pieces]
        growing = {
            name: [StoredPiece(mapped[s.place.file], s.place, s.about, trusted) for s in stretches]
            for name, stretches in self.growing.items()
        }
        return Saved(about, pieces, growing)


def contents_of(kept: Mapping[str, Json]) -> ImageContents:
    """Return the contents from the JSON of `dataclasses.asdict`."""
    pieces = [(PiecePlace(**where), about) for where, about in kept["pieces"]]
    growing = {
        name: [SequenceSlice(**{**stretch, "place": PiecePlace(**stretch["place"])}) for stretch in stretches]
        for name, stretches in kept["growing"].items()
    }
    return ImageContents(pieces, growing, kept.get("sizes", {}))


class _Writer:
    """Writes pieces into files whose names start with `prefix`."""

    def __init__(self, files: Files, prefix: str) -> None:
        self._files, self._prefix = files, prefix
        self.sizes: dict[str, int] = {}
        self._small: list[Buffer] = [MAGIC]
        self._end = len(MAGIC)

    def add(self, about: Mapping[str, Json], arrays: Arrays) -> PiecePlace:
        """Write a piece. A small one is written by the next `finish`."""
        parts, size, checksum = encode(about, arrays)
        if size < _LARGE:
            self._small += parts
            self._end += size
            return PiecePlace(self._name, self._end - size, size, checksum)
        name = f"{self._prefix}-{len(self.sizes) + 1}"
        self.sizes[name] = self._files.write(name, [MAGIC, *parts])
        return PiecePlace(name, len(MAGIC), size, checksum)

    @property
    def _name(self) -> str:
        return f"{self._prefix}-0"

    def finish(self) -> None:
        """Write the small pieces."""
        if self._end > len(MAGIC):
            self.sizes[self._name] = self._files.write(self._name, self._small)


class _There:
    """What need not be written: it is in earlier files, or in files of other places that are worth linking."""

    def __init__(self, files: Files, folder: str, image: Image, before: ImageContents) -> None:
        self._files, self._folder, self._before = files, folder, before
        self.sizes = dict(before.sizes)
        self._origins = {name: _origins(sequence) for name, sequence in image.growing.items()}
        kept = [piece.owner.kept for piece in image.pieces]
        kept += [stretch for sequence in image.growing.values() for stretch in sequence.kept]
        result = [at for at in map(written, kept) if at is not None and not self._is_ours(at)]
        result += [at for piece in image.pieces if (at := written(piece.owner.kept)) is not None and self._is_ours(at)]
        result += [WrittenPieces(files, s.place) for name in image.growing for s in self._known(name)]
        wanted = Counter[tuple[str, str]]()
        for at in result:
            wanted[_key(at)] += at.place.length
        sizes = {_key(at): self._size(at) for at in result}
        self._worth = {key for key, size in sizes.items() if wanted[key] >= _USED * size}

    def _is_ours(self, at: WrittenPieces) -> bool:
        return at.files.place == self._files.place

    def _size(self, at: WrittenPieces) -> int:
        """Return the size of a file; a huge number if it is ours but not among the earlier files."""
        if not self._is_ours(at):
            return at.files.size(at.place.file)
        if at.place.file not in self._before.files:
            return 1 << 62
        if at.place.file not in self.sizes:
            self.sizes[at.place.file] = self._files.size(at.place.file)
        return self.sizes[at.place.file]

    def place(self, at: WrittenPieces | None) -> PiecePlace | None:
        """Return the location of a written piece among our files; None if it must be written."""
        if at is None or _key(at) not in self._worth:
            return None
        if self._is_ours(at):
            return at.place
        name = f"{self._folder}{at.place.file.rpartition('/')[2]}"
        if name not in self.sizes:
            try:
                self._files.adopt(at.files, at.place.file, name)
            except FileNotFoundError:  # it is no longer needed there, and was removed since
                return None
            self.sizes[name] = at.files.size(at.place.file)
        return replace(at.place, file=name)

    def _known(self, name: str) -> Iterator[SequenceSlice]:
        """Yield the earlier stretches whose elements a sequence has."""
        for stretch in self._before.growing.get(name, ()):
            if stretch.end > self._origins[name].get(stretch.origin, 0):
                return
            yield stretch

    def stretches(self, name: str, sequence: GrowingSequence) -> Iterator[SequenceSlice]:
        """Yield the first stretches of a sequence that exist already."""
        end = 0
        for stretch in self._known(name):
            if self.place(WrittenPieces(self._files, stretch.place)) is None:
                break
            end = stretch.end
            yield stretch
        for kept in sequence.kept:
            place = self.place(written(kept)) if kept.about["from"] == end else None
            if place is not None:
                end = kept.about["to"]
                yield SequenceSlice(place, kept.about["from"], end, kept.about["origin"])


def _key(at: WrittenPieces) -> tuple[str, str]:
    return at.files.place, at.place.file


def _origins(sequence: GrowingSequence) -> dict[str, int]:
    """Return the origins of sequences with a common start, and the length of that start."""
    result = {sequence.origin: sequence.count}
    for kept in sequence.kept:
        result[kept.about["origin"]] = kept.about["to"]
    return result


def write_contents(files: Files, prefix: str, image: Image, before: ImageContents | None) -> ImageContents:
    """Write what does not exist yet into new files whose names start with `prefix`; everything if `before` is None.

    `before` is the last written image, which still exists. After an exception, files without references may be left.
    Raises OSError.
    """
    there = None if before is None else _There(files, prefix[: prefix.rfind("/") + 1], image, before)
    writer = _Writer(files, prefix)
    pieces = [(_placed(piece, there, writer), piece.about) for piece in image.pieces]
    growing = {name: list(_stretches(name, sequence, there, writer)) for name, sequence in image.growing.items()}
    writer.finish()
    for (place, _), piece in zip(pieces, image.pieces, strict=True):
        if place.file in writer.sizes:
            piece.owner.kept = WrittenPieces(files, place)
    sizes = {**(there.sizes if there is not None else {}), **writer.sizes}
    made = ImageContents(pieces, growing)
    return replace(made, sizes={name: sizes[name] for name in sorted(made.files)})


def _placed(piece: ImagePiece, there: _There | None, writer: _Writer) -> PiecePlace:
    place = there.place(written(piece.owner.kept)) if there is not None else None
    return place or writer.add(piece.about, piece.arrays())


def _stretches(name: str, sequence: GrowingSequence, there: _There | None, writer: _Writer) -> Iterator[SequenceSlice]:
    """Yield the stretches of a sequence: existing ones, the last ones joined with new elements."""
    stay = list(there.stretches(name, sequence)) if there is not None else []
    while stay and (new := sequence.count - stay[-1].end) and 2 * new > stay[-1].end - stay[-1].start:
        stay.pop()
    yield from stay
    start = stay[-1].end if stay else 0
    if start < sequence.count:
        about = {"from": start, "to": sequence.count, "origin": sequence.origin}
        place = writer.add(about, sequence.arrays(start, sequence.count))
        yield SequenceSlice(place, start, sequence.count, sequence.origin)
