"""Views as Delta tables: the files of changed rows are replaced in one commit of the table's log."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltic.catalog import External
from deltic.circuit.types import Type
from deltic.engine.files import files
from deltic.errors import DelticError, UnsupportedError
from deltic.pipeline.outside.buckets import Listing, Part, Plan, planned
from deltic.pipeline.outside.delta import deltalake, errors
from deltic.pipeline.outside.hashes import digest, row_hashes
from deltic.pipeline.outside.parquet_target import LISTING, naming, write_durably, write_text_durably
from deltic.pipeline.outside.source import filled
from deltic.pipeline.outside.target import Mark, Shown, Written

_MARKED = "deltic"
"""The name of the mark among what a commit says of itself."""


class DeltaTarget:
    """A Delta table on a file system of this machine.

    A commit names its mark, and the listing of the files stands beside the log. Where that is not of the table's last
    version, because of a crash, or because others have written to it, all files are written anew.
    """

    def __init__(self, place: External) -> None:
        self._place, self.path = place, Path(filled(place["path"]))
        if "://" in place["path"]:
            raise UnsupportedError(f"{place}: Delta tables are published on file systems of this machine; mount it")
        self._system = files.System()

    def mark(self) -> Mark | None:
        found = self._read(self._table())
        return None if found is None else Mark(found["stamp"], found["epoch"])

    def publish(self, shown: Shown, delta: pa.Table | None) -> Written:
        with naming(self.path), errors(str(self.path)):
            table = self._table()
            self._claim(table)
            found = self._read(table)
            there = None if found is None else Listing.of_json(found["listing"])
            plan = planned(self._place, shown, there, delta if found else None, self._rows)
            if there is not None and plan.kept == there.parts and not plan.new:
                self._write(shown.mark, there, table.version())
                return Written(plan.how, kept=len(there.parts))
            made = {bucket: self._file(bucket, rows) for bucket, rows in plan.new.items()}
            version = self._commit(table, plan, made, shown.mark)
            self._write(shown.mark, plan.listing(made), version)
            rows, size = sum(p.rows for p in made.values()), sum(p.bytes for p in made.values())
            return Written(plan.how, rows, len(made), size, len(plan.kept), plan.read)

    def _table(self) -> Any:
        """The table; None where there is none yet."""
        with errors(str(self.path)):
            is_one = deltalake().DeltaTable.is_deltatable(str(self.path))
            return deltalake().DeltaTable(str(self.path)) if is_one else None

    def _claim(self, table: Any) -> None:
        """Make the folder of the listing, before the first commit; raises DelticError for a table of somebody else."""
        folder = self.path / "_deltic"
        if table is not None and not folder.is_dir():
            raise DelticError(f"{self.path}: there is a Delta table of something else; remove it, or name another path")
        folder.mkdir(parents=True, exist_ok=True)

    def _read(self, table: Any) -> dict[str, Any] | None:
        """The listing, where it is that of the table's version."""
        try:
            found: dict[str, Any] = json.loads((self.path / "_deltic" / LISTING).read_bytes())
        except (OSError, ValueError):
            return None
        return found if table is not None and found["version"] == table.version() else None

    def _rows(self, part: Part) -> pa.Table | None:
        try:
            return pq.read_table(self.path / part.file, partitioning=None)
        except (OSError, pa.ArrowException):
            return None

    def _file(self, bucket: int, rows: pa.Table) -> Part:
        path = self.path / f"part-{bucket:05}-{uuid.uuid4()}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(_as_delta(rows), path, self._system)
        return Part(path.name, len(rows), digest(row_hashes(rows, rows.column_names)), path.stat().st_size)

    def _commit(self, table: Any, plan: Plan, made: dict[int, Part], mark: Mark) -> int:
        """Put the new files in place of all others but those that stay; the version that this is."""
        package, actions = deltalake(), deltalake().transaction
        now = int(time.time() * 1000)
        added = [
            actions.AddAction(part.file, part.bytes, {}, now, True, json.dumps({"numRecords": part.rows}))
            for part in made.values()
        ]
        schema = (
            package.Schema.from_arrow(_as_delta(next(iter(plan.new.values())).slice(0, 0)).schema) if plan.new else None
        )
        told = actions.CommitProperties(custom_metadata={_MARKED: json.dumps([mark.stamp, mark.epoch])})
        if table is None:
            actions.create_table_with_add_actions(str(self.path), schema, added, commit_properties=told)
            return 0
        if schema is not None and str(schema) != str(table.schema()):
            raise DelticError(f"{self.path}: the table has other columns than the view; remove it first")
        kept = {part.file for part in plan.kept.values()}
        there = pa.table(table.get_add_actions()).select(["path", "size_bytes"]).to_pylist()
        gone = [actions.RemoveAction(a["path"], True, now, a["size_bytes"], {}) for a in there if a["path"] not in kept]
        table.create_write_transaction([*added, *gone], "append", table.schema(), commit_properties=told)
        version: int = package.DeltaTable(str(self.path)).version()
        return version

    def _write(self, mark: Mark, listing: Listing, version: int) -> None:
        told = {"version": version, "stamp": mark.stamp, "epoch": mark.epoch, "listing": listing.to_json()}
        write_text_durably(json.dumps(told), self.path / "_deltic" / LISTING, self._system)


def _as_delta(rows: pa.Table) -> pa.Table:
    """The rows in types that Delta has; raises UnsupportedError for an interval."""
    columns = []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        type_ = Type.of_arrow(field.type)
        if type_ in (Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL):
            raise UnsupportedError(f"column {field.name}: Delta tables have no intervals; cast it to a text")
        columns.append(column.cast(_WIDER.get(field.type, field.type)))
    return pa.table(columns, names=rows.column_names)


_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
