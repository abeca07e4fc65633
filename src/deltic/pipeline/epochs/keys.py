"""Primary keys: no two rows of a table agree in the columns of its key."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import Table
from deltic.engine.batches import Batch
from deltic.engine.conflicts import SHOWN
from deltic.engine.protocol import WEIGHT
from deltic.engine.shards.hashing import xxhash64
from deltic.engine.version import Version
from deltic.errors import ChangeError
from deltic.pipeline.rows.numbering import row_numbers


def check_keys(tables: Mapping[str, Table], changes: Mapping[str, Batch], before: Version, version: Version) -> None:
    """Raises ChangeError where rows that come have the key of another row, as tables are with the prepared epoch.

    `before` is the version of the epoch before.
    """
    for name, batch in changes.items():
        table = tables[name]
        parts = batch.parts() if table.key else ()
        for number, rows in enumerate(parts):
            come = rows.select(table.key).filter(pc.greater(rows.column(WEIGHT), 0))
            is_whole = not number and len(rows) == batch.count()
            if not len(come) or (is_whole and not before.entries(table.name) and _differ(come)):
                continue
            if (version.count_each(table.name, come) > 1).any():
                raise _taken(table, version.lookup_all(table.name, come))


def _differ(keys: pa.Table) -> bool:
    """Whether no two keys are the same for sure: their hashes differ."""
    hashes = np.sort(xxhash64(keys.columns, len(keys)))
    return bool((hashes[1:] != hashes[:-1]).all())


def _taken(table: Table, rows: pa.Table) -> ChangeError:
    """The error for rows several of which have one key."""
    numbers = row_numbers(rows, table.key)
    several = np.flatnonzero(np.bincount(numbers) > 1)
    told = "; ".join(_sharing(table, rows.filter(pa.array(numbers == number))) for number in several[:SHOWN])
    more = f"; and {len(several) - SHOWN:,} more keys" if len(several) > SHOWN else ""
    return ChangeError(
        f"table {table.name}: several rows would have the key {told}{more}; nothing was changed. "
        "Delete the row that is there in the same transaction, or use upsert, UPDATE or MERGE"
    )


def _sharing(table: Table, rows: pa.Table) -> str:
    """A key, and the rows that have it."""
    (key,) = rows.select(table.key).slice(0, 1).to_pylist()
    return f"{key_text(key)}: {' and '.join(str(tuple(row.values())) for row in rows.slice(0, SHOWN).to_pylist())}"


def key_text(key: Mapping[str, object]) -> str:
    """A key as messages show it."""
    return ", ".join(f"{name} = {value!r}" for name, value in key.items())
