"""Reads rows in any form, with weights or by key, as operations on tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.engine.batches import Changed, TableBatch
from deltic.engine.keyed import BY_KEY, UPSERT, KeyedChange, RowChange
from deltic.errors import DataError, DelticError
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.epochs.operations import Operation
from deltic.pipeline.io.rounding import Rounding
from deltic.pipeline.names import find
from deltic.pipeline.rows.coerce import optional_columns, to_table
from deltic.pipeline.rows.posting import posted
from deltic.pipeline.rows.tabular import updates, with_key_alone
from deltic.progress import step_began, step_ended
from deltic.values.types import Schema

_Operations = list[Operation]


class RowOperations:
    """Reads rows as operations on the tables of `definitions`. `rounded` counts values that were rounded, by table.

    Each method is one of `Transaction`, which describes the forms of rows; it returns no operation for no rows.
    """

    def __init__(self, definitions: Definitions, site: Callable[[CatalogTable], Any]) -> None:
        self.definitions, self._site = definitions, site
        self.rounded: dict[str, Rounding] = {}

    def insert(self, name: str, rows: Any, coerce: bool) -> _Operations:
        return self._signed("insert", self.table(name), rows, 1, coerce)

    def delete(self, name: str, rows: Any, coerce: bool) -> _Operations:
        table = self.table(name)
        if table.key and len(table.key) < len(table.schema):
            rows, by_key = with_key_alone(rows, table)
            if by_key:
                return self._by_key("delete", table, table.key_schema, rows, coerce)
        return self._signed("delete", table, rows, -1, coerce)

    def upsert(self, name: str, rows: Any, coerce: bool) -> _Operations:
        table = self._keyed(name)
        return self._by_key("upsert", table, table.schema, rows, coerce)

    def update(self, name: str, rows: Any, coerce: bool) -> _Operations:
        table = self._keyed(name)
        parts = updates(rows, table)
        return [each for part, columns in parts for each in self._by_key("update", table, columns, part, coerce)]

    def change(self, name: str, rows: Any, coerce: bool) -> _Operations:
        return row_changes(name, self._weighted("change", self.table(name), rows, None, coerce))

    def table(self, name: str) -> CatalogTable:
        """Return a table whose rows may change. Raises CatalogError and DelticError for others."""
        catalog = self.definitions.catalog
        if (result := catalog.shown_tables.get(name)) is None:
            derived = dict.fromkeys(catalog.view_schemas, "it is a view, and its rules alone change it")
            result = find(name, "table", catalog.shown_tables, derived)
        self.refuse_refreshed(name)
        return result

    def refuse_refreshed(self, name: str) -> None:
        """Raise DelticError for a table whose rows come from a source."""
        if (source := self.definitions.sources.get(name)) is not None:
            raise DelticError(f"table {name} has the rows of {source}: change these, and call `refresh`")

    def _keyed(self, name: str) -> CatalogTable:
        """Return a table with a key. Raises DelticError for one without."""
        result = self.table(name)
        if not result.key:
            raise DelticError(
                f"table {name} has no key, by which its rows could be found: declare one, as in "
                f'pipeline.table("{name}", …, key="{result.schema.names[0] if result.schema.names else "id"}")'
            )
        return result

    def _signed(self, kind: str, table: CatalogTable, rows: Any, weight: int, coerce: bool) -> _Operations:
        """Return the insertion or deletion of rows, and show the step of reading them."""
        step, began = f"reading rows of {table.name}", time.perf_counter()
        step_began(step)
        batch = self._weighted(kind, table, rows, weight, coerce)
        step_ended(step, len(batch) if isinstance(batch, pa.Table) else batch.count(), time.perf_counter() - began)
        return row_changes(table.name, batch)

    def _weighted(self, kind: str, table: CatalogTable, rows: Any, weight: int | None, coerce: bool) -> Changed:
        """Return rows with this weight, or with their own weights. Tasks write the rows of a DataFrame if possible."""
        rounding = self._rounding(table, coerce)
        with _naming(kind):
            optional = {} if weight == -1 else optional_columns(table)
            if (result := posted(rows, table, table.schema, weight, self._site, rounding, optional)) is not None:
                return result
            is_signed = weight is None
            key = table.key if is_signed else ()
            result = to_table(table.name, table.schema, rows, is_signed, key, rounding=rounding, optional=optional)
            return result if weight is None else TableBatch(result, weight)

    def _by_key(self, kind: Any, table: CatalogTable, columns: Schema, rows: Any, coerce: bool) -> _Operations:
        weight, updated = BY_KEY if kind == "delete" else UPSERT, tuple(columns.names) if kind == "update" else ()
        rounding = self._rounding(table, coerce)
        with _naming(kind):
            if (result := posted(rows, table, columns, weight, self._site, rounding)) is not None:
                return [RowChange(table.name, result, updated)] if result.count() else []
            batch = to_table(table.name, columns, rows, rounding=rounding)
        return [KeyedChange(kind, table.name, batch)] if len(batch) else []

    def _rounding(self, table: CatalogTable, coerce: bool) -> Rounding | None:
        """Return what rounds and counts the values of a table; None if values that do not fit are refused."""
        return self.rounded.setdefault(table.name, Rounding()) if coerce else None


def row_changes(table: str, rows: Changed) -> _Operations:
    """Return the change of a table by rows with weights; nothing for no rows."""
    batch = TableBatch(rows) if isinstance(rows, pa.Table) else rows
    return [RowChange(table, batch)] if batch.count() else []


@contextmanager
def _naming(kind: str) -> Iterator[None]:
    """Add the kind of operation to the message of a DataError."""
    try:
        yield
    except DataError as error:
        raise error.of(kind) from error.__cause__
