"""Event time: rows that come too late are left out and reported, and watermarks rise with the others.

The watermark of a table is the greatest time of its inserted rows, minus the lateness. An epoch uses the watermark
before it, so the order of rows in an epoch makes no difference. The watermark is a row of a hidden table, which changes
with the epoch: it is logged, checkpointed and rolled back with the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deltic.catalog import Catalog, CatalogTable
from deltic.engine.batches import Batch, TableBatch
from deltic.engine.lateness import LatePolicy, LateRows
from deltic.engine.version import Version
from deltic.engine.watermark import LateSplit, Watermark, as_numbers
from deltic.errors import LateError
from deltic.pipeline.io.parsed import arrow_schema
from deltic.values.types import Type

Batches = Mapping[str, Batch]
# The watermarks of tables, in the units of their columns. A table without any time has none.
Marks = Mapping[str, int]


@dataclass(frozen=True)
class AdmittedChanges:
    """The changes of an epoch that are in time, and the changes of watermarks."""

    batches: Batches
    ticks: Batches = field(default_factory=dict)
    late: tuple[LateRows, ...] = ()
    marks: Marks | None = None
    """The watermarks after the epoch; None if they have not been read."""


class WatermarkGate:
    """Admits the changes of tables that are not too late, and caches the watermarks of the last version."""

    def __init__(self) -> None:
        self._known: tuple[Version | None, Marks] = (None, {})

    def admit(self, catalog: Catalog, batches: Batches, version: Version, policy: LatePolicy) -> AdmittedChanges:
        """Return the admitted changes. LateError if rows are late, and the policy makes that an error."""
        timed = {n: table for n in batches if (table := catalog.tables[n]).lateness is not None}
        if not timed:
            return AdmittedChanges(batches, marks=self._known[1] if self._known[0] is version else None)
        marks = self.marks(catalog, version)
        kept, ticks, late, after = dict(batches), dict[str, TableBatch](), [], dict(marks)
        for name, table in timed.items():
            watermark = _watermark(table, marks.get(name))
            kept[name], gone = _sifted(watermark, batches[name])
            if gone is not None:
                assert watermark.least is not None
                late.append(LateRows(name, watermark.column, _scalar(table, watermark.least), gone))
            if (risen := _risen(table, watermark, kept[name])) is not None:
                after[name] = risen
                ticks.update(_tick(table, watermark.least, risen))
        if late and policy == "error":
            raise late_error(late)
        return AdmittedChanges(kept, ticks, tuple(late), after)

    def watermark(self, catalog: Catalog, table: CatalogTable, version: Version) -> Watermark | None:
        """Return the watermark of a table in a version; None for one without a lateness."""
        return None if table.lateness is None else _watermark(table, self.marks(catalog, version).get(table.name))

    def remember(self, version: Version, marks: Marks | None) -> None:
        """Cache the watermarks of a version, if they are known."""
        if marks is not None:
            self._known = version, marks

    def marks(self, catalog: Catalog, version: Version) -> Marks:
        """Return the watermarks of a version."""
        if self._known[0] is not version:
            self._known = version, dict(_read(catalog, version))
        return self._known[1]


def watermarks(catalog: Catalog, version: Version) -> dict[str, Any]:
    """Return the watermark of each table with a lateness, None before its first row: dates, datetimes, integers."""
    marks = dict(_read(catalog, version))
    timed = {name: table for name, table in catalog.tables.items() if table.lateness is not None}
    return {name: None if name not in marks else _scalar(table, marks[name]) for name, table in timed.items()}


def late_error(late: list[LateRows]) -> LateError:
    """Return the error for late rows."""
    message = "; ".join(each.summary for each in late)
    return LateError(
        f'{message}; nothing was changed. Leave them out, or pass late="drop", which ignores and reports them.'
    )


def _watermark(table: CatalogTable, least: int | None) -> Watermark:
    return Watermark(_column(table), table.key, least)


def _sifted(watermark: Watermark, batch: Batch) -> tuple[Batch, Batch | None]:
    """Split changes into those in time and those that are late, None if there are none."""
    if isinstance(batch, LateSplit):
        return batch, batch.late if batch.late.count() else None
    if not any(watermark.before(rows).any() for rows in batch.parts()):
        return batch, None
    rows = batch.to_arrow()
    gone = watermark.late(rows)
    return TableBatch(rows.filter(pa.array(~gone))), TableBatch(rows.filter(pa.array(gone)))


def _risen(table: CatalogTable, watermark: Watermark, batch: Batch) -> int | None:
    """Return the watermark after the inserted rows, if it rises."""
    assert table.lateness is not None
    if (latest := watermark.latest(batch)) is None:
        return None
    result = latest - table.lateness.length
    is_above = watermark.least is None or result > watermark.least
    return result if result >= _LEAST[_type(table)] and is_above else None


def _column(table: CatalogTable) -> str:
    assert table.lateness is not None
    return table.lateness.column


def _type(table: CatalogTable) -> Type:
    return table.schema.types[_column(table)]


def _values(table: CatalogTable, marks: list[int]) -> pa.Array:
    type_ = _type(table)
    numbers = pa.array(marks, pa.int64())
    return numbers.cast(pa.int32()).cast(type_.arrow) if type_ is Type.DATE else numbers.cast(type_.arrow)


def _scalar(table: CatalogTable, mark: int) -> Any:
    return _values(table, [mark])[0].as_py()


_LEAST = {
    Type.INT8: -(1 << 7),
    Type.INT16: -(1 << 15),
    Type.INT32: -(1 << 31),
    Type.INT64: -(1 << 63),
    Type.DATE: -719_162,
    Type.TIMESTAMP: -62_135_596_800_000_000,
    Type.TIMESTAMP_NTZ: -62_135_596_800_000_000,
}
"""The least watermark of each type: for times, January 1 of the year 1. Below it there is none."""


def _tick(table: CatalogTable, before: int | None, after: int) -> Iterator[tuple[str, TableBatch]]:
    """Yield the change of the hidden table that holds the watermark."""
    mark = table.watermark
    assert mark is not None
    values = [after] if before is None else [before, after]
    weights = pa.array([1] if before is None else [-1, 1], pa.int64())
    yield mark.name, TableBatch(pa.table([_values(table, values), weights], schema=arrow_schema(mark.schema, True)))


def _read(catalog: Catalog, version: Version) -> Iterator[tuple[str, int]]:
    """Yield the existing watermarks."""
    for name, table in catalog.tables.items():
        if (mark := table.watermark) is not None:
            times = as_numbers(version.read(mark.name, table=True).column(0))
            if len(times):
                yield name, int(times[0].as_py())
