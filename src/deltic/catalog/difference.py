"""The difference between two catalogs: relations added, dropped, replaced and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deltic.catalog.catalog import Catalog
from deltic.catalog.definitions import CatalogTable


@dataclass(frozen=True)
class CatalogDifference:
    """The names of the tables and views that differ between two catalogs.

    `replaced` are those with another definition, `dependent` those whose own definition stays, but which read, maybe
    through others, what was replaced or dropped; they are among `kept` as well.
    """

    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dependent: tuple[str, ...] = ()

    @classmethod
    def between(cls, old: Catalog, new: Catalog) -> CatalogDifference:
        """Compare two catalogs."""
        before, after = _definitions(old), _definitions(new)
        replaced = tuple(name for name in after if name in before and before[name] != after[name])
        kept = tuple(name for name in after if name in before and before[name] == after[name])
        dependents = new.readers(replaced)
        return cls(
            tuple(name for name in after if name not in before),
            replaced,
            tuple(name for name in before if name not in after),
            kept,
            tuple(name for name in kept if name in dependents),
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.replaced or self.dropped)

    def __str__(self) -> str:
        parts = {"added": self.added, "replaced": self.replaced, "dropped": self.dropped, "kept": self.kept}
        return "; ".join(f"{what} {', '.join(names)}" for what, names in parts.items() if names) or "nothing changed"


def _definitions(catalog: Catalog) -> Mapping[str, tuple[CatalogTable | None, object]]:
    """Return the definition of each relation: its table, and that of its view."""
    derived = {name: (d.circuit, d.views) for d in catalog.definitions for name in d.names}
    hidden = {table.name for table in catalog.tables.values() if table.is_hidden}
    return {name: (catalog.tables.get(name), derived.get(name)) for name in catalog.relations if name not in hidden}
