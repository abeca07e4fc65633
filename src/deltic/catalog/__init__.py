"""The catalog: the tables and views of one namespace, into which every front end lowers its definitions."""

from deltic.catalog.catalog import Catalog, CatalogDifference
from deltic.catalog.columns import schema_of
from deltic.catalog.definitions import CatalogTable, CatalogView, FrontEndDefinitions, ViewDefinitions
from deltic.catalog.external import External
