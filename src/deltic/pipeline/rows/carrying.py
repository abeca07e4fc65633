"""The rows of altered tables, converted to the new definitions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import Catalog, CatalogTable
from deltic.catalog.altering import origin
from deltic.catalog.definitions import FixedValue, FormerTable
from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import TableBatch
from deltic.engine.keyed import row_numbers
from deltic.engine.version import Version
from deltic.errors import CatalogError, count_of
from deltic.values import to_arrow


def formers(before: Catalog, after: Catalog) -> dict[str, FormerTable]:
    """Return the altered tables by their new names, with the old definitions."""
    result = {name: origin(table, before.tables) for name, table in after.shown_tables.items()}
    return {name: former for name, former in result.items() if former is not None}


def carried(before: Version, after: Catalog, altered: Mapping[str, FormerTable]) -> dict[str, TableBatch]:
    """Return the rows of tables that were altered, where they need another form.

    Raises CatalogError where they do not fit: NULL in a column that has none, two rows of one key, or two that would
    be one.
    """
    result = {}
    for name, former in altered.items():
        table = after.tables[name]
        if former.table.name == name and former.table.type == table.type:
            continue
        rows = before.read(former.table.name, table=True, counted=True)
        result[name] = TableBatch(_recast(rows, table, former))
        _check_rows(result[name].rows, table, former)
    return result


def _recast(rows: pa.Table, table: CatalogTable, former: FormerTable) -> pa.Table:
    """Rows of the former table, with weights, as rows of the table."""
    columns = []
    for column, source in zip(table.schema, former.columns, strict=True):
        if isinstance(source, FixedValue):
            values = to_arrow([source.value], column.type).take(pa.array(np.zeros(len(rows), np.int64)))
        else:
            values = rows.column(source)
        if values.null_count and not column.nullable:
            count = pc.sum(rows.column(WEIGHT).filter(values.is_null())).as_py()
            message = f"{count_of(count, 'row')} would be NULL there"
            hint = "give it a DEFAULT" if isinstance(source, FixedValue) else "UPDATE them first"
            raise CatalogError(f"{table.name}.{column.name} cannot be NOT NULL: {message}; {hint}")
        columns.append(values.cast(column.type.arrow) if values.type != column.type.arrow else values)
    fields = table.schema.to_arrow().append(pa.field(WEIGHT, pa.int64(), nullable=False))
    return pa.table([*columns, rows.column(WEIGHT)], schema=fields)


def _check_rows(rows: pa.Table, table: CatalogTable, former: FormerTable) -> None:
    """Raise CatalogError where two rows of a set would be equal or share a key."""
    if table.is_bag or (table.key == former.table.key and table.key):
        return
    kept = {source for source in former.columns if isinstance(source, str)}
    if not table.key and not former.table.is_bag and kept.issuperset(former.table.schema.names):
        return
    numbers = row_numbers(rows, table.key or table.schema.names)
    times = np.bincount(numbers, weights=np.asarray(rows.column(WEIGHT)))
    if (times > 1).any():
        first = rows.filter(pa.array(numbers == int(np.argmax(times > 1)))).slice(0, 1).select(table.schema.names)
        shown = tuple(first.to_pylist()[0].values())
        what = f"have one key: one is {shown}" if table.key else f"be one: {shown}"
        raise CatalogError(f"table {table.name}: several rows would {what}; delete what is too many first")
