"""Views as Delta tables: files with changed rows are replaced in one commit of the table's log."""

from __future__ import annotations

import json
import time
from typing import Any

import pyarrow as pa

from deltic.catalog import External
from deltic.engine.files.address import files_at
from deltic.errors import DelticError, UnsupportedError
from deltic.pipeline.connectors.buckets import (
    LISTING,
    BucketFile,
    BucketPlan,
    marked,
    naming,
    planned,
    read_listing,
    write_listing,
    write_part,
)
from deltic.pipeline.connectors.delta import deltalake, errors, options_of
from deltic.pipeline.connectors.source import filled
from deltic.pipeline.connectors.target import PublishedRows, PublishedView, TargetMark
from deltic.values.types import Type
from deltic.values.types.arrow import type_of_arrow

_FOLDER = "_deltic"
_LISTED = f"{_FOLDER}/{LISTING}"
_MARKED = "deltic"
"""The name of the mark in a commit's description."""


class DeltaTarget:
    """A Delta table, at a path or at an address such as `s3://bucket/table`.

    A commit contains its mark, and the listing of the files is stored beside the log. If the listing is not that of the
    table's last version, because of a crash or another writer, all files are rewritten.
    """

    def __init__(self, place: External) -> None:
        self._place, self.address = place, filled(place["path"])
        self._files = files_at(self.address)

    def mark(self) -> TargetMark | None:
        return marked(self._read(self._table()))

    def publish(self, shown: PublishedView, delta: pa.Table | None) -> PublishedRows:
        with naming(self.address), errors(self.address):
            table = self._table()
            self._claim()
            plan = planned(self._place, shown, self._read(table), delta, self._files)
            if plan.is_same:
                write_listing(self._files, shown.mark, plan.listing({}), _LISTED, version=table.version())
                return plan.published({})
            new = plan.new.items()
            made = {bucket: write_part(self._files, bucket, rows, _as_delta(rows)) for bucket, rows in new}
            version = self._commit(table, plan, made, shown.mark)
            write_listing(self._files, shown.mark, plan.listing(made), _LISTED, version=version)
            return plan.published(made)

    def _table(self) -> Any:
        """Return the table; None if it does not exist yet. DelticError if it is not ours."""
        with errors(self.address):
            table, options = deltalake().DeltaTable, options_of(self.address)
            if not table.is_deltatable(self.address, storage_options=options):
                return None
            if not self._files.names(_FOLDER):
                raise DelticError(
                    f"{self.address}: there is a Delta table of something else; remove it, or name another path"
                )
            return table(self.address, storage_options=options)

    def _claim(self) -> None:
        """Claim the place before the first commit."""
        if not self._files.names(_FOLDER):
            self._files.write(f"{_FOLDER}/claim", [str(self._place).encode()])

    def _read(self, table: Any) -> dict[str, Any] | None:
        """Return the listing, if it is that of the table's version."""
        result = read_listing(self._files, _LISTED)
        return result if result is not None and table is not None and result["version"] == table.version() else None

    def _commit(self, table: Any, plan: BucketPlan, made: dict[int, BucketFile], mark: TargetMark) -> int:
        """Replace all files but those that stay by the new ones. Return the new version."""
        package, actions = deltalake(), deltalake().transaction
        now = int(time.time() * 1000)
        added = [
            actions.AddAction(part.file, part.bytes, {}, now, True, json.dumps({"numRecords": part.rows}))
            for part in made.values()
        ]
        schema = (
            package.Schema.from_arrow(_as_delta(next(iter(plan.new.values())).slice(0, 0)).schema) if plan.new else None
        )
        properties = actions.CommitProperties(custom_metadata={_MARKED: json.dumps([mark.stamp, mark.epoch])})
        if table is None:
            options = options_of(self.address)
            actions.create_table_with_add_actions(
                self.address, schema, added, commit_properties=properties, storage_options=options
            )
            return 0
        if schema is not None and str(schema) != str(table.schema()):
            raise DelticError(f"{self.address}: the table has other columns than the view; remove it first")
        kept = {part.file for part in plan.kept.values()}
        there = pa.table(table.get_add_actions()).select(["path", "size_bytes"]).to_pylist()
        gone = [actions.RemoveAction(a["path"], True, now, a["size_bytes"], {}) for a in there if a["path"] not in kept]
        table.create_write_transaction([*added, *gone], "append", table.schema(), commit_properties=properties)
        version: int = self._table().version()
        return version


def _as_delta(rows: pa.Table) -> pa.Table:
    """Return the rows in Delta's types. UnsupportedError for an interval."""
    columns = []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        type_ = type_of_arrow(field.type)
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
