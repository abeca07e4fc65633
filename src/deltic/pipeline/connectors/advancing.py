"""Sources that are compared as a whole, or read from the greatest value of a change column on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.catalog import CatalogTable, External
from deltic.engine.batches import with_weights
from deltic.engine.comparing import EVERYTHING, Beside, compared
from deltic.engine.image import Json
from deltic.engine.keyed import UPSERT, Keyed, with_order
from deltic.engine.version import has_ranges
from deltic.errors import CatalogError
from deltic.pipeline.connectors.source import HeldRows, SourceChange
from deltic.pipeline.io.rounding import RoundedValues
from deltic.pipeline.names import find

if TYPE_CHECKING:
    from deltic.engine.executors.shards.staged_rows import StagedRows
    from deltic.pipeline.connectors.tasks import Tasks


def check_change_column(place: External, table: CatalogTable) -> None:
    """Raise CatalogError if the change column cannot be one."""
    column = place.get("changed")
    types = {c.name: c.type for c in table.schema}
    if column and not has_ranges(find(column, f"column of {table.name}", types)):
        raise CatalogError(f"table {table.name}: values of {column} have no order, and it cannot be a change column")


def since(position: Json) -> Any:
    """Return the value of the change column from which rows must be read; None for all rows."""
    return position["changed"] if position else None


def pending(place: External, position: Json) -> str:
    """Describe what would be read."""
    column, last = place.get("changed"), since(position)
    return f"rows with {column} from {last} on" if last is not None else "all rows"


@dataclass(frozen=True)
class Advance:
    """What is read of a table's source: rows from a value of the change column on, or all if it is None.

    Rows with the last greatest value are read again, because others with this value may have been added.
    """

    table: CatalogTable
    place: External
    position: Json
    value: Any

    @property
    def how(self) -> str:
        """Describe what is read."""
        return "compared" if self.value is None else f"{self.place['changed']} from {self.position['changed']} on"

    @property
    def beside(self) -> Beside:
        """The rows of the table with which these are compared."""
        column = self.place.get("changed")
        if self.value is None:
            return EVERYTHING
        return Beside(column, self.value, any(c.name == column and c.nullable for c in self.table.schema))

    @property
    def weight(self) -> int:
        """The weight of the rows: UPSERT for a table with a key, unless all rows are read."""
        return UPSERT if self.value is not None and self.table.key else 1

    def to(self, last: Any) -> Json:
        """Return the position after these rows, of which `last` is the greatest value."""
        if not self.place.get("changed"):
            return {}
        return {"changed": self.position["changed"] if last is None and self.position else last}

    def compared_here(
        self, rows: pa.Table, last: Any, held: HeldRows, rounded: Mapping[str, RoundedValues] = MappingProxyType({})
    ) -> SourceChange:
        """Return the changes by the rows that this process has read. Of rows with one key the last one counts."""
        weighted = with_order(with_weights(rows, self.weight))
        changes = compared(Keyed(self.table.name, self.table.key), weighted, held.version, self.beside)
        return SourceChange(changes, self.to(last), self.how, len(rows), rounded=rounded)

    def compared_by(
        self,
        tasks: Tasks,
        rows: StagedRows,
        last: Any,
        held: HeldRows,
        rounded: Mapping[str, RoundedValues] = MappingProxyType({}),
    ) -> SourceChange:
        """Return the changes by the rows that tasks have written."""
        how = "loaded" if held.is_empty else self.how
        changes = tasks.compared(self.table, rows, held, self.beside)
        return SourceChange(changes, self.to(last), f"{how}, by tasks", rows.count(), rounded=rounded)
