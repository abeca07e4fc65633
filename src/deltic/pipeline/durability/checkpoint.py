"""Writes checkpoints: the new part of an image goes to new files, and a manifest names these and the earlier ones.

Nothing is blocked by it: an image does not change.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import chain, pairwise

from deltic.engine.files.contents import ImageContents, write_contents
from deltic.engine.files.files import Files
from deltic.engine.files.pieces import needed_open
from deltic.engine.image import Image
from deltic.errors import StateError
from deltic.pipeline.durability import log, manifest
from deltic.pipeline.durability.manifest import Manifest, StateDescription

FOLDER = "runs"


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
    prefix = f"{FOLDER}/{number:012}-{secrets.token_hex(4)}"
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
    numbers = manifest.numbers(files)
    for number in numbers:
        try:
            if len(kept) < keep:
                kept.append(manifest.read(files, number))
                continue
        except StateError:
            pass
        files.remove(manifest.name_of(number))
    named = {name for each in kept for name in each.contents.files} | needed_open(files)
    files.remove(*(name for name in files.names(FOLDER) if name not in named and _number(name) <= max(numbers)))
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
    names = chain.from_iterable(files.names(folder) for folder in (FOLDER, manifest.FOLDER, log.FOLDER, log.ROWS))
    return [name for name in names if name.endswith(".part")]
