"""The state of a shard on storage that all processes share: run files that never change, and a description of them.

Who writes the state of a shard puts what is not written yet into new files, under names that nobody else gives; the
description, which is small, names these files and those of before. A file that no description names is garbage: of a
process that was killed, of an attempt that another one overtook, of an epoch that was aborted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from uuid import uuid4

from deltic.engine.files.contents import ImageContents, contents_of, write_contents
from deltic.engine.files.files import Files
from deltic.engine.files.pieces import needed_open
from deltic.engine.image import Image, Json, Saved
from deltic.errors import StateError

RUNS, DESCRIPTIONS, MESSAGES = "runs", "shards", "letters"
_REMEDY = (
    "nothing was changed. Without this file the shards cannot be read: open the pipeline's state again, or load the "
    "tables into a new pipeline, with a directory from which nothing else removes files: Shards(directory=…)"
)


def write_state(files: Files, image: Image, before: str | None, learned: Json, mark: str = "") -> str:
    """Write what is new of a shard: the name of its description. `before` is the last one's, None for the first.

    The names of files begin with a `mark`.

    Raises StateError where a file cannot be written; there may be some files more then that nobody names.
    """
    there = ImageContents() if before is None else contents_of(read_description(files, before)["contents"])
    with writing(files):
        contents = write_contents(files, f"{RUNS}/{mark}{uuid4().hex}", image, there)
    return describe(files, {"about": image.about, "contents": asdict(contents), "learned": learned}, mark)


def describe(files: Files, described: Mapping[str, Json], mark: str = "") -> str:
    """Write a description: its name. Raises StateError where it cannot be written."""
    name = f"{DESCRIPTIONS}/{mark}{uuid4().hex}"
    with writing(files):
        files.write(name, [json.dumps(described, separators=(",", ":")).encode()])
    return name


@contextmanager
def writing(files: Files) -> Iterator[None]:
    """What writes files of shards: raises StateError where they cannot be written."""
    try:
        yield
    except OSError as error:
        raise StateError(
            f"state {files.place}: the files of a shard cannot be written ({error.strerror or error}); nothing was "
            "changed. Make room there, or name another directory: Shards(directory=…) or --directory"
        ) from error


def read_description(files: Files, name: str) -> Mapping[str, Json]:
    """A description that was written; raises StateError where it cannot be read."""
    try:
        result: Mapping[str, Json] = json.loads(files.read(name))
        return result
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not what was written"
        raise StateError(f"state {files.place}: {name}: it cannot be read ({reason}); {_REMEDY}") from None


def read_state(files: Files, described: Mapping[str, Json]) -> Saved:
    """The rows of a description, read at first use."""
    return contents_of(described["contents"]).saved(files, described["about"], _REMEDY, trusted=True)


def files_of(described: Mapping[str, Json]) -> set[str]:
    """The names of the files that a description needs."""
    return contents_of(described["contents"]).files


def bytes_of(described: Mapping[str, Json]) -> int:
    """The bytes of a description."""
    return contents_of(described["contents"]).nbytes


def collect_garbage(files: Files, needed: Collection[str], mark: str = "") -> None:
    """Remove the files that are not needed, and that nobody in this process reads; to be called while nobody writes.

    Who writes files whose names begin with a `mark` may do so. What cannot be removed now is tried again the next time.
    """
    kept = {*needed, *needed_open(files)}
    with suppress(OSError):
        for folder in (RUNS, DESCRIPTIONS, MESSAGES):
            for name in files.names(folder):
                if name not in kept and not (mark and name.startswith(f"{folder}/{mark}")):
                    files.remove(name)
