"""The difference between rows of a source and those of a table: only the rows that differ are inserted and deleted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import with_weights
from deltic.engine.keyed import Keyed, are_by_key, in_order, row_numbers, weighted
from deltic.engine.version import Between, Version


@dataclass(frozen=True)
class Beside:
    """The rows of a table that others replace: all, or those whose `column` is at least `least`, or NULL.

    A change by key always replaces the row with that key.
    """

    column: str = ""
    least: Any = None
    has_nulls: bool = False
    """Whether the column may be NULL."""

    @property
    def is_whole(self) -> bool:
        """Return whether these are all rows of the table."""
        return not self.column

    def held(self, version: Version, table: str) -> pa.Table:
        """Return these rows of a table in a version."""
        if self.is_whole:
            return version.read(table, table=True)
        parts = [version.lookup(table, {self.column: Between(self.least, None)})]
        if self.has_nulls:
            parts.append(version.lookup(table, {self.column: None}))
        return pa.concat_tables(parts)


EVERYTHING = Beside()


def compared(table: Keyed, rows: pa.Table, version: Version, beside: Beside = EVERYTHING) -> pa.Table:
    """Return the changes by which rows with weights replace others: distinct rows with their weights.

    Raises UnorderedKeys if the order of a key's rows matters and there is no ORDER.
    """
    rows = in_order(table, rows)
    if are_by_key(rows).any():
        return netted(weighted(table, rows, partial(version.lookup_all, table.name), "normalize"))
    return _beside(rows, beside.held(version, table.name))


def difference(rows: pa.Table, held: pa.Table) -> pa.Table:
    """Return the changes by which these rows replace others: distinct rows with their weights."""
    return _beside(with_weights(rows, 1), held)


def _beside(rows: pa.Table, held: pa.Table) -> pa.Table:
    """Return the same for rows with weights."""
    if not len(held):
        return rows
    return netted(pa.concat_tables([rows, with_weights(held.select(rows.column_names[:-1]), -1)]))


def netted(changes: pa.Table) -> pa.Table:
    """Return distinct changes with their summed weights. Changes that cancel are left out."""
    names = [name for name in changes.column_names if name != WEIGHT]
    first, where = np.unique(row_numbers(changes, names), return_index=True, return_inverse=True)[1:]
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, where.reshape(-1), np.asarray(changes.column(WEIGHT)))
    kept = first[sums != 0]
    return with_weights(changes.take(pa.array(kept)).drop_columns([WEIGHT]), sums[sums != 0])
