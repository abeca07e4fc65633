"""A query that is planned and not evaluated yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deltic.catalog import ViewDefinitions
from deltic.sql.statements.ordering import Key


@dataclass(frozen=True)
class PlannedQuery:
    """A query to evaluate once: its view, the column names in SQL, and the order of the answer's rows."""

    definition: ViewDefinitions
    names: Sequence[str]
    order: Mapping[int, Key]
    """The sort keys by column position, the most significant first."""
