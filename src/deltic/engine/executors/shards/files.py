"""The state of a shard on shared storage: run files, which never change, and a description of them.

A writer puts new runs into new files with unique names. The description, which is small, names these files and older
ones. A file that no description names is garbage: from a killed process, from a superseded attempt of a task, or from
an aborted epoch.
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
    """Write the new runs of a shard. Return the name of its new description; `before` is the last one, None at first.

    The names of files start with `mark`.

    Raises StateError if a file cannot be written. Files without references may then be left.
    """
    there = ImageContents() if before is None else contents_of(read_description(files, before)["contents"])
    with writing(files):
        contents = write_contents(files, f"{RUNS}/{mark}{uuid4().hex}", image, there)
    return describe(files, {"about": image.about, "contents": asdict(contents), "learned": learned}, mark)


def describe(files: Files, described: Mapping[str, Json], mark: str = "") -> str:
    """Write a description, and return its name. StateError if it cannot be written."""
    name = f"{DESCRIPTIONS}/{mark}{uuid4().hex}"
    with writing(files):
        files.write(name, [json.dumps(described, separators=(",", ":")).encode()])
    return name


@contextmanager
def writing(files: Files) -> Iterator[None]:
    """Raise StateError if files of shards cannot be written in this block."""
    try:
        yield
    except OSError as error:
        raise StateError(
            f"state {files.place}: the files of a shard cannot be written ({error.strerror or error}); nothing was "
            "changed. Make room there, or name another directory: Shards(directory=…) or --directory"
        ) from error


def read_description(files: Files, name: str) -> Mapping[str, Json]:
    """Read a description. StateError if it cannot be read."""
    try:
        result: Mapping[str, Json] = json.loads(files.read(name))
        return result
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not what was written"
        raise StateError(f"state {files.place}: {name}: it cannot be read ({reason}); {_REMEDY}") from None


def read_state(files: Files, described: Mapping[str, Json]) -> Saved:
    """Return the state of a description, whose rows are read at first use."""
    return contents_of(described["contents"]).saved(files, described["about"], _REMEDY, trusted=True)


def files_of(described: Mapping[str, Json]) -> set[str]:
    """Return the names of the files that a description needs."""
    return contents_of(described["contents"]).files


def bytes_of(described: Mapping[str, Json]) -> int:
    """Return the size of the files of a description, in bytes."""
    return contents_of(described["contents"]).nbytes


def collect_garbage(files: Files, needed: Collection[str], mark: str = "") -> None:
    """Remove the files that are not needed, and not read in this process. Call it while no other process writes.

    Files whose names start with `mark` are left alone. A failed removal is tried again the next time.
    """
    kept = {*needed, *needed_open(files)}
    with suppress(OSError):
        for folder in (RUNS, DESCRIPTIONS, MESSAGES):
            for name in files.names(folder):
                if name not in kept and not (mark and name.startswith(f"{folder}/{mark}")):
                    files.remove(name)
