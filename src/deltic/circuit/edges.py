"""The types of edges: Z-sets of rows of a schema, and bundles of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deltic.values.types.schema import Schema
from deltic.values.words import word


@dataclass(frozen=True)
class ZSetType:
    """An edge that carries Z-sets of rows of `schema`; `depth` is the number of nested streams.

    `is_set`: every weight is 0 or 1 at all times, by construction of the circuit. `collations` of some columns say how
    SQL compares the texts of a table or view; no circuit depends on them.
    """

    schema: Schema
    is_set: bool = False
    depth: int = 0
    collations: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return ("set" if self.is_set else "zset") + str(self.schema) + (f"^{self.depth}" if self.depth else "")


@dataclass(frozen=True)
class BundleType:
    """An edge that carries several named Z-sets at once, such as the outputs of a fixpoint [DBSP §9]."""

    entries: tuple[tuple[str, ZSetType], ...]

    @classmethod
    def of(cls, types: Mapping[str, ZSetType]) -> BundleType:
        """Return the bundle of these Z-sets, by name."""
        return cls(tuple(sorted(types.items())))

    def __str__(self) -> str:
        return "<" + ", ".join(f"{word(name)}: {type_}" for name, type_ in self.entries) + ">"


EdgeType = ZSetType | BundleType
