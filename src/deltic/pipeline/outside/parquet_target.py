"""Views as folders of Parquet files, of which readers see one epoch or the next, and nothing between.

The path is a symbolic link to a folder of the present version, which has all of its files; those that did not change
are hard links to the files of the version before. The version before stays for those who are reading it.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltic.catalog import External
from deltic.engine.files import files
from deltic.engine.files.files import System
from deltic.errors import DelticError
from deltic.pipeline.outside.buckets import Listing, Part, Plan, planned
from deltic.pipeline.outside.hashes import digest, row_hashes
from deltic.pipeline.outside.source import filled
from deltic.pipeline.outside.target import Mark, Shown, Written

LISTING = "_deltic.json"
_KEPT = 2


class ParquetTarget:
    """A folder at a path, with its versions beside it."""

    def __init__(self, place: External) -> None:
        self._place, self.path = place, Path(filled(place["path"]))
        self._versions = self.path.with_name(f".{self.path.name}.versions")
        self._system = files.System()

    def mark(self) -> Mark | None:
        found = self._read()
        return None if found is None else Mark(found["stamp"], found["epoch"])

    def publish(self, shown: Shown, delta: pa.Table | None) -> Written:
        with naming(self.path):
            found = self._read()
            there = None if found is None else Listing.of_json(found["listing"])
            plan = planned(self._place, shown, there, delta, self._rows)
            if there is not None and plan.kept == there.parts and not plan.new:
                self._write(self.path.resolve() / LISTING, shown.mark, there)
                return Written(plan.how, kept=len(there.parts))
            return self._next(plan, shown.mark)

    def _read(self) -> dict[str, Any] | None:
        """The listing; None where nothing was published, or what was is not whole."""
        if self.path.exists() and not self.path.is_symlink():
            raise DelticError(f"{self.path}: there is something else; remove it, or publish to another path")
        try:
            found: dict[str, Any] = json.loads((self.path / LISTING).read_bytes())
            return found
        except (OSError, ValueError):
            return None

    def _rows(self, part: Part) -> pa.Table | None:
        try:
            return pq.read_table(self.path / part.file, partitioning=None)
        except (OSError, pa.ArrowException):
            return None

    def _next(self, plan: Plan, mark: Mark) -> Written:
        """Make the next version, and let the path lead to it."""
        folder = self._versions / f"{mark.epoch:012}-{mark.stamp[:8]}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for part in plan.kept.values():
            os.link(self.path / part.file, folder / part.file)
        made = {bucket: self._file(folder, bucket, rows) for bucket, rows in plan.new.items()}
        self._write(folder / LISTING, mark, plan.listing(made))
        link = self._versions / f".{uuid.uuid4().hex}"
        link.symlink_to(os.path.relpath(folder.resolve(), self.path.parent.resolve()))
        self._system.rename(link, self.path)
        _sync_folder(self._system, self.path.parent)
        self._forget_older()
        rows, size = sum(p.rows for p in made.values()), sum(p.bytes for p in made.values())
        return Written(plan.how, rows, len(made), size, len(plan.kept), plan.read)

    def _file(self, folder: Path, bucket: int, rows: pa.Table) -> Part:
        path = folder / f"part-{bucket:05}-{uuid.uuid4().hex[:8]}.parquet"
        write_durably(rows, path, self._system)
        return Part(path.name, len(rows), digest(row_hashes(rows, rows.column_names)), path.stat().st_size)

    def _write(self, path: Path, mark: Mark, listing: Listing) -> None:
        """Write the listing, which appears when it is complete."""
        told = {"stamp": mark.stamp, "epoch": mark.epoch, "listing": listing.to_json()}
        write_text_durably(json.dumps(told), path, self._system)

    def _forget_older(self) -> None:
        """Remove all but the last versions, and what a crash left."""
        now = self.path.resolve()
        versions = sorted(
            (p for p in self._versions.iterdir() if p.resolve() != now), key=lambda p: p.stat().st_mtime_ns
        )
        for path in versions[: len(versions) - _KEPT + 1]:
            path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)


def write_durably(rows: pa.Table, path: Path, system: System) -> None:
    """Write rows to a Parquet file that is on the disk then."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    _write(memoryview(sink.getvalue()), path, system)


def write_text_durably(text: str, path: Path, system: System) -> None:
    """Write a text file, in place of the one that is there, on the disk."""
    part = path.with_name(f".{path.name}.part")
    _write(memoryview(text.encode()), part, system)
    system.rename(part, path)
    _sync_folder(system, path.parent)


def _write(data: memoryview, path: Path, system: System) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        while data:
            data = data[system.write(file, data) :]
        system.sync(file)
    finally:
        os.close(file)


def _sync_folder(system: System, folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        system.sync(file)
    finally:
        os.close(file)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors of the system as errors that name the target."""
    try:
        yield
    except OSError as error:
        raise DelticError(f"{path}: it cannot be published ({error.strerror or error}); it is as before") from error
