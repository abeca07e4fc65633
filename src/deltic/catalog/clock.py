"""The clock: a hidden table whose one row is the current time; it advances from epoch to epoch."""

from __future__ import annotations

from deltic.catalog.definitions import CatalogTable
from deltic.values.types import Schema, Type

CLOCK = CatalogTable("current_timestamp", Schema.of(now=Type.TIMESTAMP), is_hidden=True)
"""It is there where a view reads it, and no row of it is there before the first epoch."""
