"""Views as files of rows, and one file of the changes since these were written, which a reader adds.

A publication writes the changes alone. Once they are more than an eighth of the rows, all rows are written again. Files
have new names and never change; those of the previous publication stay for its readers.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from deltic.catalog import External
from deltic.engine.comparing import netted
from deltic.engine.files.address import files_at
from deltic.errors import DelticError
from deltic.pipeline.connectors.buckets import LISTING, marked, naming, read_listing, write_parquet
from deltic.pipeline.connectors.source import filled
from deltic.pipeline.connectors.target import PublishedRows, PublishedView, TargetMark

_PART = 1 << 20
"""The rows of a file."""
_SHARE = 8
"""All rows are written again once changes are more than this part of them."""


@dataclass(frozen=True)
class MergedFiles:
    """The files of a view: a folder with its rows, and the file of the changes since, if there is one."""

    schema: str
    rows: str
    count: int
    changes: str | None = None
    before: tuple[str, ...] = ()
    """The folder and the file of the previous publication."""

    @property
    def names(self) -> tuple[str, ...]:
        """The folder and the file that readers merge."""
        return (self.rows, self.changes) if self.changes else (self.rows,)


class MergeOnReadTarget:
    """A folder at a path or an address such as `s3://bucket/takings`."""

    def __init__(self, place: External) -> None:
        self.address = filled(place["path"])
        self._files = files_at(self.address)

    def mark(self) -> TargetMark | None:
        found = read_listing(self._files, LISTING)
        if found is None and any(not name.startswith(LISTING) for name in self._files.names()):
            raise DelticError(f"{self.address}: there is something else; remove it, or publish to another path")
        return marked(found)

    def publish(self, shown: PublishedView, delta: pa.Table | None) -> PublishedRows:
        with naming(self.address):
            if read_listing(self._files, LISTING) is None:  # claims the folder before it has files
                self._list(TargetMark("", -1), None)
            now = self._present()
            new, told = self._next(now, shown, delta)
            self._list(shown.mark, replace(new, before=now.names if now else ()))
            return told

    def paths(self) -> tuple[str, str | None]:
        """Return the path of the folder of rows, and of the file of changes, if there is one, after a publication."""
        now = self._present()
        assert now is not None
        return f"{self.address}/{now.rows}", now.changes and f"{self.address}/{now.changes}"

    def _next(
        self, now: MergedFiles | None, shown: PublishedView, delta: pa.Table | None
    ) -> tuple[MergedFiles, PublishedRows]:
        if now is None or delta is None or (changes := self._since(now, shown, delta)) is None:
            return self._anew(shown)
        if not len(delta):
            return now, PublishedRows("nothing was new")
        return self._changed(now, changes)

    def _present(self) -> MergedFiles | None:
        """Return the files as of the last publication."""
        found = read_listing(self._files, LISTING)
        if found is None or found["files"] is None:
            return None
        files = found["files"]
        return MergedFiles(**{**files, "before": tuple(files["before"])})

    def _since(self, now: MergedFiles, shown: PublishedView, delta: pa.Table) -> pa.Table | None:
        """Return the changes since the rows were written; None if all rows must be written again.

        Spark compares no maps, so that it could not merge them.
        """
        if now.schema != str(shown.schema) or "map(" in now.schema:
            return None
        if now.changes is not None:
            try:
                before = pq.read_table(pa.BufferReader(self._files.read(now.changes)))
            except (OSError, pa.ArrowException):
                return None
            delta = netted(pa.concat_tables([before.select(delta.column_names).cast(delta.schema), delta]))
        return delta if len(delta) * _SHARE <= now.count else None

    def _anew(self, shown: PublishedView) -> tuple[MergedFiles, PublishedRows]:
        """Write all rows."""
        rows, folder = shown.rows(), f"rows-{uuid.uuid4().hex}"
        parts = [rows.slice(start, _PART) for start in range(0, max(len(rows), 1), _PART)]
        sizes = [write_parquet(self._files, f"{folder}/{number:05}.parquet", part) for number, part in enumerate(parts)]
        told = PublishedRows("all files written", len(rows), len(parts), sum(sizes))
        return MergedFiles(str(shown.schema), folder, len(rows)), told

    def _changed(self, now: MergedFiles, changes: pa.Table) -> tuple[MergedFiles, PublishedRows]:
        """Write the changes since the rows were written."""
        if not len(changes):
            return replace(now, changes=None), PublishedRows("changes")
        name = f"changes-{uuid.uuid4().hex}.parquet"
        size = write_parquet(self._files, name, changes)
        return replace(now, changes=name), PublishedRows("changes", len(changes), 1, size)

    def _list(self, mark: TargetMark, files: MergedFiles | None) -> None:
        """Let readers find the files, and remove those that neither this publication nor the previous one has."""
        listed = {"stamp": mark.stamp, "epoch": mark.epoch, "files": files and asdict(files)}
        self._files.write(LISTING, [json.dumps(listed).encode()])
        kept = {LISTING, *(files.names if files else ()), *(files.before if files else ())}
        for name in self._files.names():
            if name not in kept:
                self._remove(name)

    def _remove(self, name: str) -> None:
        if name.startswith("rows-"):
            self._files.below(name).clear()
        else:
            self._files.remove(name)
