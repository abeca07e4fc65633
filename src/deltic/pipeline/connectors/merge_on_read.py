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
from deltic.pipeline.connectors.buckets import LISTING, marked, naming, read_listing
from deltic.pipeline.connectors.source import filled
from deltic.pipeline.connectors.target import PublishedRows, PublishedView, TargetMark

_PART = 1 << 20
"""The rows of a file."""
_SHARE = 8
"""All rows are written again once changes are more than this part of them."""


@dataclass(frozen=True)
class MergedFiles:
    """The files of a view: those of its rows, named `rows-*`, and that of the changes since, if there is one."""

    schema: str
    rows: tuple[str, ...]
    count: int
    changes: str | None = None
    read: tuple[str, ...] = ()
    """The files of the previous publication."""

    @property
    def names(self) -> tuple[str, ...]:
        """The files that readers merge."""
        return (*self.rows, *((self.changes,) if self.changes else ()))


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
            self._list(shown.mark, replace(new, read=now.names if now else ()))
            return told

    def paths(self) -> tuple[str, str | None]:
        """Return the paths of the rows, a pattern, and of the changes, if there are any, after a publication."""
        now = self._present()
        assert now is not None
        rows = f"{self.address}/{now.rows[0].rpartition('-')[0]}-*.parquet"
        return rows, now.changes and f"{self.address}/{now.changes}"

    def _next(
        self, now: MergedFiles | None, shown: PublishedView, delta: pa.Table | None
    ) -> tuple[MergedFiles, PublishedRows]:
        if now is None or delta is None or (changes := self._since(now, shown, delta)) is None:
            return self._anew(shown)
        if not len(delta):
            return now, PublishedRows("nothing was new", kept=len(now.names))
        return self._changed(now, changes)

    def _present(self) -> MergedFiles | None:
        """Return the files as of the last publication."""
        found = read_listing(self._files, LISTING)
        if found is None or found["files"] is None:
            return None
        files = found["files"]
        rows, read = tuple(files["rows"]), tuple(files["read"])
        return MergedFiles(files["schema"], rows, files["count"], files["changes"], read)

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
        rows, made = shown.rows(), uuid.uuid4().hex
        starts = range(0, max(len(rows), 1), _PART)
        names = [f"rows-{made}-{number:05}.parquet" for number in range(len(starts))]
        sizes = [self._write(name, rows.slice(start, _PART)) for name, start in zip(names, starts, strict=True)]
        told = PublishedRows("all files written", len(rows), len(names), sum(sizes))
        return MergedFiles(str(shown.schema), tuple(names), len(rows)), told

    def _changed(self, now: MergedFiles, changes: pa.Table) -> tuple[MergedFiles, PublishedRows]:
        """Write the changes since the rows were written."""
        if not len(changes):
            return replace(now, changes=None), PublishedRows("changes", kept=len(now.rows))
        name = f"changes-{uuid.uuid4().hex}.parquet"
        size = self._write(name, changes)
        return replace(now, changes=name), PublishedRows("changes", len(changes), 1, size, len(now.rows))

    def _write(self, name: str, rows: pa.Table) -> int:
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink)
        return self._files.write(name, [memoryview(sink.getvalue())])

    def _list(self, mark: TargetMark, files: MergedFiles | None) -> None:
        """Let readers find the files, and remove those that neither this publication nor the previous one has."""
        listed = {"stamp": mark.stamp, "epoch": mark.epoch, "files": files and asdict(files)}
        self._files.write(LISTING, [json.dumps(listed).encode()])
        kept = {LISTING, *(files.names if files else ()), *(files.read if files else ())}
        self._files.remove(*(name for name in self._files.names() if name not in kept))
