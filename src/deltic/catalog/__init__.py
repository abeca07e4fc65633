"""The catalog: the tables and views of one namespace, into which every front end lowers its definitions."""

from deltic.catalog.catalog import Catalog
from deltic.catalog.columns import schema_of
from deltic.catalog.definitions import Definition, Part, Table, View
from deltic.catalog.difference import Difference
from deltic.catalog.external import External

__all__ = ["Catalog", "Definition", "Difference", "External", "Part", "Table", "View", "schema_of"]
