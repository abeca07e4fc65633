"""Event time at the door: rows that come too late are left out and told of, and watermarks rise with the others.

The watermark of a table is the greatest time of a row that has come, less the lateness. What is too late in an epoch
is decided by the watermark of before it, so that the order of rows in an epoch makes no difference. It is a row of a
hidden table, which changes with the epoch: what is logged, checkpointed and taken back with the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import Catalog, Table
from deltic.circuit.types import Type
from deltic.engine.batches import Batch, TableBatch
from deltic.engine.lateness import LatePolicy, LateRows
from deltic.engine.numbering import row_numbers
from deltic.engine.protocol import WEIGHT
from deltic.engine.version import Version
from deltic.errors import LateError
from deltic.pipeline.io.parsed import arrow_schema

Batches = Mapping[str, Batch]
Mask = npt.NDArray[np.bool_]
# The watermarks of tables, in the units of their columns; none of a table that has had no row with a time.
Marks = Mapping[str, int]


@dataclass(frozen=True)
class Admitted:
    """What of an epoch's changes is in time, and how watermarks change with them."""

    batches: Batches
    ticks: Batches = field(default_factory=dict)
    late: tuple[LateRows, ...] = ()
    marks: Marks | None = None
    """The watermarks after the epoch; None where nobody has looked for them."""


class Door:
    """Lets the changes of tables in that are not too late, and remembers the watermarks of the last version."""

    def __init__(self) -> None:
        self._known: tuple[Version | None, Marks] = (None, {})

    def admit(self, catalog: Catalog, batches: Batches, version: Version, policy: LatePolicy) -> Admitted:
        """What comes in. Raises LateError where rows are late, and that is an error."""
        timed = {n: table for n in batches if (table := catalog.tables[n]).lateness is not None}
        if not timed:
            return Admitted(batches, marks=self._known[1] if self._known[0] is version else None)
        marks = self.marks(catalog, version)
        kept, ticks, late, after = dict(batches), dict[str, TableBatch](), [], dict(marks)
        for name, table in timed.items():
            batch, mark = batches[name], marks.get(name)
            if mark is not None and any(_before(table, rows, mark).any() for rows in batch.parts()):
                rows = batch.to_arrow()
                gone = _late(table, rows, mark)
                late.append(LateRows(name, _column(table), _scalar(table, mark), rows.filter(pa.array(gone))))
                batch = kept[name] = TableBatch(rows.filter(pa.array(~gone)))
            if (risen := _risen(table, batch, mark)) is not None:
                after[name] = risen
                ticks.update(_tick(table, mark, risen))
        if late and policy == "error":
            raise late_error(late)
        return Admitted(kept, ticks, tuple(late), after)

    def are_late(self, catalog: Catalog, table: Table, keys: pa.Table, version: Version) -> Mask:
        """Which of the keys of a table have a time that is before the watermark."""
        if table.lateness is None or _column(table) not in table.key:
            return np.zeros(len(keys), np.bool_)
        mark = self.marks(catalog, version).get(table.name)
        return np.zeros(len(keys), np.bool_) if mark is None else _before(table, keys, mark)

    def remember(self, version: Version, marks: Marks | None) -> None:
        """Know the watermarks of a version, where they are known, without a look into it."""
        if marks is not None:
            self._known = version, marks

    def marks(self, catalog: Catalog, version: Version) -> Marks:
        """The watermarks of a version."""
        if self._known[0] is not version:
            self._known = version, dict(_read(catalog, version))
        return self._known[1]


def watermarks(catalog: Catalog, version: Version) -> dict[str, Any]:
    """The watermark of each table that has a lateness, None before it has had a row: dates, datetimes, integers."""
    marks = dict(_read(catalog, version))
    timed = {name: table for name, table in catalog.tables.items() if table.lateness is not None}
    return {name: None if name not in marks else _scalar(table, marks[name]) for name, table in timed.items()}


def late_error(late: list[LateRows]) -> LateError:
    """The error for rows that are too late."""
    told = "; ".join(each.told for each in late)
    return LateError(f'{told}; nothing was changed. Leave them out, or pass late="drop", which does so and tells it.')


def _late(table: Table, rows: pa.Table, mark: int) -> Mask:
    """Which changes are before the watermark, or of a key that has one which is."""
    gone = _before(table, rows, mark)
    if table.key and _column(table) not in table.key:
        numbers = row_numbers(rows, table.key)
        gone = np.isin(numbers, numbers[gone])
    return gone


def _before(table: Table, rows: pa.Table, mark: int) -> Mask:
    """Which rows have a time before the watermark."""
    found: Mask = np.asarray(pc.fill_null(pc.less(_numbers(rows.column(_column(table))), mark), False))
    return found


def _risen(table: Table, batch: Batch, mark: int | None) -> int | None:
    """The watermark that the rows which come lead to, where it is above what there was."""
    assert table.lateness is not None
    latest = [time for rows in batch.parts() if (time := _latest(table, rows)) is not None]
    if not latest:
        return None
    found = max(latest) - table.lateness.length
    return found if found >= _LEAST[_type(table)] and (mark is None or found > mark) else None


def _latest(table: Table, rows: pa.Table) -> int | None:
    """The latest time of the rows that come."""
    come = rows.filter(pc.greater(rows.column(WEIGHT), 0))
    found: int | None = pc.max(_numbers(come.column(_column(table)))).as_py()
    return found


def _column(table: Table) -> str:
    assert table.lateness is not None
    return table.lateness.column


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as integers, in the unit of their column."""
    return column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(column.type) else column.cast(pa.int64())


def _type(table: Table) -> Type:
    return table.schema.types[_column(table)]


def _values(table: Table, marks: list[int]) -> pa.Array:
    type_ = _type(table)
    numbers = pa.array(marks, pa.int64())
    return numbers.cast(pa.int32()).cast(type_.arrow) if type_ is Type.DATE else numbers.cast(type_.arrow)


def _scalar(table: Table, mark: int) -> Any:
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
"""The least watermark of each type: of times, the first of January of the year 1. What would be below it is none."""


def _tick(table: Table, before: int | None, after: int) -> Iterator[tuple[str, TableBatch]]:
    """How the hidden table changes that holds the watermark."""
    mark = table.watermark
    assert mark is not None
    values = [after] if before is None else [before, after]
    weights = pa.array([1] if before is None else [-1, 1], pa.int64())
    yield mark.name, TableBatch(pa.table([_values(table, values), weights], schema=arrow_schema(mark.schema, True)))


def _read(catalog: Catalog, version: Version) -> Iterator[tuple[str, int]]:
    """The watermarks that there are."""
    for name, table in catalog.tables.items():
        if (mark := table.watermark) is not None:
            times = _numbers(version.read(mark.name, table=True).column(0))
            if len(times):
                yield name, int(times[0].as_py())
