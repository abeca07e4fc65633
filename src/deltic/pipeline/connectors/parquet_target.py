"""Views as folders of Parquet files. Readers see one epoch or the next, and nothing in between.

The path is a symbolic link to a folder with all files of the present version. Unchanged files are hard links to the
files of the previous version, which stays for its readers.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltic.catalog import External
from deltic.engine.files.address import local_path
from deltic.engine.files.local import LocalFiles, SystemCalls
from deltic.errors import DelticError, UnsupportedError
from deltic.pipeline.connectors.buckets import (
    BucketPlan,
    marked,
    naming,
    planned,
    read_listing,
    write_listing,
    write_part,
)
from deltic.pipeline.connectors.source import filled
from deltic.pipeline.connectors.target import PublishedRows, PublishedView, TargetMark

_KEPT = 2


class ParquetTarget:
    """A folder at a path on this machine, with its versions beside it."""

    def __init__(self, place: External) -> None:
        address = filled(place["path"])
        if (path := local_path(address)) is None:
            raise UnsupportedError(
                f"{place}: stores of objects cannot put one folder in place of another at once, as readers of plain "
                "files need it; publish a Delta table there: the kind is delta"
            )
        self._place, self.path = place, path
        self._versions = self.path.with_name(f".{self.path.name}.versions")
        self._system = SystemCalls()

    def mark(self) -> TargetMark | None:
        return marked(self._read())

    def publish(self, shown: PublishedView, delta: pa.Table | None) -> PublishedRows:
        with naming(str(self.path)):
            plan = planned(self._place, shown, self._read(), delta, self._files(self.path))
            if plan.is_same:
                write_listing(self._files(self.path.resolve()), shown.mark, plan.listing({}))
                return plan.published({})
            return self._next(plan, shown.mark)

    def _files(self, folder: Path) -> LocalFiles:
        return LocalFiles(folder, self._system)

    def _read(self) -> dict[str, Any] | None:
        """Return the listing; None if nothing was published, or it is incomplete."""
        if self.path.exists() and not self.path.is_symlink():
            raise DelticError(f"{self.path}: there is something else; remove it, or publish to another path")
        return read_listing(self._files(self.path))

    def _next(self, plan: BucketPlan, mark: TargetMark) -> PublishedRows:
        """Write the next version, and redirect the path to it."""
        folder = self._versions / f"{mark.epoch:012}-{mark.stamp[:8]}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        files = self._files(folder)
        for part in plan.kept.values():
            files.adopt(self._files(self.path), part.file, part.file)
        made = {bucket: write_part(files, bucket, rows) for bucket, rows in plan.new.items()}
        write_listing(files, mark, plan.listing(made))
        link = self._versions / f".{uuid.uuid4().hex}"
        link.symlink_to(os.path.relpath(folder.resolve(), self.path.parent.resolve()))
        self._system.rename(link, self.path)
        files.sync(self.path.parent)
        self._forget_older()
        return plan.published(made)

    def _forget_older(self) -> None:
        """Remove all but the last versions, and leftovers of a crash."""
        now = self.path.resolve()
        versions = sorted(
            (p for p in self._versions.iterdir() if p.resolve() != now), key=lambda p: p.stat().st_mtime_ns
        )
        for path in versions[: len(versions) - _KEPT + 1]:
            path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)
