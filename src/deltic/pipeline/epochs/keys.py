"""Primary keys: no two rows of a table agree in the columns of its key."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import CatalogTable
from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import Batch
from deltic.engine.keyed import Keyed, shared_keys
from deltic.engine.version import Version
from deltic.values.hashing import xxhash64


def check_keys(
    tables: Mapping[str, CatalogTable], changes: Mapping[str, Batch], before: Version, version: Version
) -> None:
    """Raise SharedKeys if an inserted row has the key of another row, in the tables after the prepared epoch.

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
                raise shared_keys(Keyed(table.name, table.key), version.lookup_all(table.name, come))


def _differ(keys: pa.Table) -> bool:
    """Return whether all keys surely differ, because their hashes do."""
    hashes = np.sort(xxhash64(keys.columns, len(keys)))
    return bool((hashes[1:] != hashes[:-1]).all())
