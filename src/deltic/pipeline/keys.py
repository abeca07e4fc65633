"""Primary keys: no two rows of a table agree in the columns of its key."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import Table
from deltic.engine.batches import TableBatch
from deltic.engine.protocol import WEIGHT, Engine
from deltic.errors import ChangeError

_SHOWN = 3


def check_keys(tables: Mapping[str, Table], changes: Mapping[str, TableBatch], engine: Engine) -> None:
    """Raises ChangeError where rows that come have the key of another row, as tables are with the prepared epoch."""
    for name, batch in changes.items():
        table = tables[name]
        if table.key:
            rows = batch.to_arrow()
            come = rows.select(table.key).filter(pc.greater(rows.column(WEIGHT), 0))
            twice = _sharing(table, come, engine)
            if len(twice):
                raise _taken(table, twice)


def _sharing(table: Table, come: pa.Table, engine: Engine) -> pa.Table:
    """All rows that have the first of these keys that several have."""
    rows = engine.lookup_all(table.name, come) if len(come) else come
    counts = rows.group_by(list(table.key), use_threads=False).aggregate([([], "count_all")])
    several = counts.filter(pc.greater(counts.column("count_all"), 1)).slice(0, 1)
    return engine.lookup(table.name, several.select(table.key).to_pylist()[0]) if len(several) else come.slice(0, 0)


def _taken(table: Table, rows: pa.Table) -> ChangeError:
    key = ", ".join(f"{name} = {rows.column(name)[0].as_py()!r}" for name in table.key)
    shown = " and ".join(str(tuple(row.values())) for row in rows.slice(0, _SHOWN).to_pylist())
    return ChangeError(
        f"table {table.name}: several rows would have the key {key}: {shown}; nothing was changed. "
        "Delete the row that is there in the same transaction, or use UPDATE or MERGE"
    )
