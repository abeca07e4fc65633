"""Sources that are compared as a whole, or read from the largest value of a change column on."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import External, Table
from deltic.engine.batches import with_weights
from deltic.engine.between import Between, has_ranges
from deltic.engine.image import Json
from deltic.engine.keyed import UPSERT
from deltic.engine.protocol import WEIGHT
from deltic.errors import CatalogError
from deltic.pipeline.names import find
from deltic.pipeline.outside.source import Found, Held, difference


def check_change_column(place: External, table: Table) -> None:
    """Raises CatalogError for a change column that is none."""
    column = place.get("changed")
    types = {c.name: c.type for c in table.schema}
    if column and not has_ranges(find(column, f"column of {table.name}", types)):
        raise CatalogError(f"table {table.name}: values of {column} have no order, and it cannot be a change column")


def since(position: Json) -> Any:
    """The value of the change column from which rows are to be read; None where all are."""
    return position["changed"] if position else None


def pending(place: External, position: Json) -> str:
    """What would be read, for people."""
    column, last = place.get("changed"), since(position)
    return f"rows with {column} from {last} on" if last is not None else "all rows"


def found(table: Table, place: External, rows: pa.Table, position: Json, value: Any, last: Any, held: Held) -> Found:
    """What rows make of a table: all of its source's, where `value` is None, or those whose change column is not less.

    Rows with the largest value of before are read again: others with it may have come since. `last` is the largest
    value now, as a position has it.
    """
    column = place.get("changed")
    at = {"changed": position["changed"] if last is None and position else last} if column else {}
    if value is None:
        return Found(difference(rows, held({})), at, "compared", len(rows))
    how = f"{column} from {position['changed']} on"
    if table.key:
        return Found(_other(rows, table, held), at, how, len(rows))
    there = [held({column: Between(value, None)})]
    if any(c.name == column and c.nullable for c in table.schema):
        there.append(held({column: None}))
    return Found(difference(rows, pa.concat_tables(there)), at, how, len(rows))


def _other(rows: pa.Table, table: Table, held: Held) -> pa.Table:
    """The rows that are not there as they are, each to come in place of what has its key."""
    if len(rows) > 10_000:
        return with_weights(rows, UPSERT)
    there = pa.concat_tables([rows.slice(0, 0), *(held(key) for key in rows.select(table.key).to_pylist())])
    new = difference(rows, there)
    come = new.filter(pc.greater(new.column(WEIGHT), 0))
    return with_weights(come.drop_columns([WEIGHT]), UPSERT)
