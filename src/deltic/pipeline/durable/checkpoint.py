"""Writing a checkpoint: what is new of an image goes to new files, and a manifest names these and those of before.

Nothing is blocked by it: an image does not change. Small pieces stand together in one file, large ones each in its own;
where most of a file is of no use any more, the rest moves. Stretches of growing sequences are joined so that each is at
least twice as long as the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import chain, pairwise

from deltic.engine.image import Arrays, Growing, Image, Json, Piece
from deltic.errors import StateError
from deltic.pipeline.durable import log, manifest
from deltic.pipeline.durable.files import Buffer, Files
from deltic.pipeline.durable.manifest import Described, Manifest, Stretch
from deltic.pipeline.durable.pieces import MAGIC, Place, encode, place_of

FOLDER = "runs"
_LARGE = 1 << 20
# The part of a file that has to be of use for the file to stay.
_USED = 0.5


@dataclass(frozen=True)
class Moment(Described):
    """What a checkpoint is to hold; `image` is None before the first epoch."""

    image: Image | None


class _Writer:
    """Writes pieces into files whose names begin with one number."""

    def __init__(self, files: Files, number: int) -> None:
        self._files, self._prefix = files, f"{FOLDER}/{number:012}"
        self._count = 0
        self._small: list[Buffer] = [MAGIC]
        self._end = len(MAGIC)

    def add(self, about: Mapping[str, Json], arrays: Arrays) -> Place:
        """Write a piece, a small one by the next `finish`."""
        parts, size, checksum = encode(about, arrays)
        if size < _LARGE:
            self._small += parts
            self._end += size
            return Place(self._name, self._end - size, size, checksum)
        self._count += 1
        name = f"{self._prefix}-{self._count}"
        self._files.write(name, [MAGIC, *parts])
        return Place(name, len(MAGIC), size, checksum)

    @property
    def _name(self) -> str:
        return f"{self._prefix}-0"

    def finish(self) -> None:
        """Write the small pieces."""
        if self._end > len(MAGIC):
            self._files.write(self._name, self._small)


def write_checkpoint(files: Files, number: int, moment: Moment, before: Manifest | None, compact: bool) -> Manifest:
    """Write what is new since the manifest `before`, or all of it to `compact`, and publish the manifest.

    After an exception the directory has some files more that no manifest names.
    """
    image = moment.image or Image({})
    kept = set() if compact or before is None else _used(image, before, files)
    writer = _Writer(files, number)
    places = [_placed(piece, kept, writer) for piece in image.pieces]
    growing = {
        name: list(_stretches(sequence, before.growing.get(name, ()) if before and not compact else (), kept, writer))
        for name, sequence in image.growing.items()
    }
    writer.finish()
    made = Manifest(
        **{said.name: getattr(moment, said.name) for said in fields(Described)},
        number=number,
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        engine=image.about if moment.image else None,
        pieces=[(place, piece.about) for place, piece in zip(places, image.pieces, strict=True)],
        growing=growing,
    )
    files.write(made.name, [made.to_bytes()])
    for place, piece in zip(places, image.pieces, strict=True):
        if place_of(piece.owner.kept) != place:
            piece.owner.kept = place
    return made


def _used(image: Image, before: Manifest, files: Files) -> set[str]:
    """The files of the manifest before that stay: most of each is of use."""
    wanted: Counter[str] = Counter()
    for piece in image.pieces:
        if (place := place_of(piece.owner.kept)) is not None:
            wanted[place.file] += place.length
    for name in image.growing:
        for stretch in before.growing.get(name, ()):
            wanted[stretch.place.file] += stretch.place.length
    return {name for name in before.files if wanted[name] >= _USED * files.size(name)}


def _placed(piece: Piece, kept: set[str], writer: _Writer) -> Place:
    place = place_of(piece.owner.kept)
    return place if place is not None and place.file in kept else writer.add(piece.about, piece.arrays())


def _stretches(sequence: Growing, before: Sequence[Stretch], kept: set[str], writer: _Writer) -> Iterator[Stretch]:
    """The stretches of a sequence: those of before, the last ones joined with what is new."""
    stay = list(before)
    while stay and (stay[-1].place.file not in kept or stay[-1].end > sequence.count):
        stay.pop()
    while stay and (new := sequence.count - stay[-1].end) and 2 * new > stay[-1].end - stay[-1].start:
        stay.pop()
    yield from stay
    start = stay[-1].end if stay else 0
    if start < sequence.count:
        about = {"from": start, "to": sequence.count}
        yield Stretch(writer.add(about, sequence.arrays(start, sequence.count)), start, sequence.count)


def collect_garbage(files: Files, keep: int) -> None:
    """Remove all but the newest manifests that are whole, what none of them names, and logs that none has behind it."""
    kept: list[Manifest] = []
    for number in manifest.numbers(files):
        try:
            if len(kept) < keep:
                kept.append(manifest.read(files, number))
                continue
        except StateError:
            pass
        files.remove(manifest.name_of(number))
    named = {name for each in kept for name in each.files}
    for name in files.names(FOLDER):
        if name not in named:
            files.remove(name)
    oldest = min((each.sequence for each in kept), default=0)
    for (_, name), (following, _) in pairwise(log.segments(files)):
        if following <= oldest + 1:
            files.remove(name)


def leftovers(files: Files) -> Iterable[str]:
    """The names of files that were being written when a process ended."""
    names = chain.from_iterable(files.names(folder) for folder in (FOLDER, manifest.FOLDER, log.FOLDER))
    return [name for name in names if name.endswith(".part")]
