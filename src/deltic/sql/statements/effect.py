"""The effect of a statement on a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from deltic.catalog import Catalog, CatalogTable, ViewDefinitions
from deltic.catalog.definitions import CLOCK
from deltic.circuit.edges import ZSetType


@dataclass(frozen=True)
class Effect:
    """The effect of a statement on a table, as views over the present tables.

    The rows of a view are inserted or deleted, as `signs` says by 1 or -1. Rows of the views in `replaced` are deleted
    because another view has them with new values. Where the view `ambiguous` has rows, the statement is refused: they
    would be changed more than once. Of the table only rows count whose values in `keyed` columns are rows of the
    view of `keys`, where there is one.
    """

    target: CatalogTable
    definitions: tuple[ViewDefinitions, ...]
    signs: Mapping[str, Literal[1, -1]]
    replaced: frozenset[str] = frozenset()
    ambiguous: str = ""
    keys: ViewDefinitions | None = None
    keyed: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.target.name

    def moved(self, catalog: Catalog) -> str:
        """Return a relation that it changes or reads whose definition has changed; "" for none."""
        if catalog.tables.get(self.table) != self.target:
            return self.table
        read = {name: type_ for definition in self.definitions for name, type_ in definition.sources.items()}
        own = {CLOCK.name} | {name for definition in self.definitions for name in definition.names}
        now = catalog.relations
        return next((name for name, type_ in read.items() if name not in own and not _agree(now.get(name), type_)), "")

    @property
    def reads(self) -> bool:
        """Whether it reads tables or views."""
        return any(definition.reads for definition in self.definitions)


def _agree(now: ZSetType | None, read: ZSetType) -> bool:
    """Return whether a relation has the rows that were read."""
    return now is not None and (now.schema, now.is_set) == (read.schema, read.is_set)
