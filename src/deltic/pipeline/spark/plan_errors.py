"""Errors about the plan of a DataFrame from which a view is defined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deltic.errors import CatalogError
from deltic.values.types import Schema


@dataclass(frozen=True)
class PlanErrors:
    """What messages say: the view, and the relations of the pipeline."""

    view: str
    relations: Mapping[str, Schema]

    def relation(self, alias: str) -> tuple[str, Schema] | None:
        """Return the relation that is meant by a name; None if there is none."""
        return next(((name, schema) for name, schema in self.relations.items() if name.lower() == alias.lower()), None)

    def check_columns(self, name: str, schema: Schema, columns: Sequence[str]) -> None:
        """Raise CatalogError if a DataFrame with the name of a relation has other columns."""
        if [*columns] != [*schema.names]:
            raise self.error(
                f"the DataFrame called {name} has the columns {', '.join(columns)}, and {name} has {schema}"
            )

    def error(self, message: str) -> CatalogError:
        return CatalogError(f"view {self.view}: {message}")

    def unsupported(self, call: str) -> CatalogError:
        return self.error(f"{call} is not supported; write it in SQL")

    def unknown_function(self, function: str) -> CatalogError:
        return self.error(f"the {function} is unknown here: add it by pipeline.function, and call it in SQL")

    def subquery(self) -> CatalogError:
        return self.error("subqueries in conditions are not supported: join the DataFrames, or write it in SQL")

    def from_elsewhere(self) -> CatalogError:
        return self.error(
            "rows of the DataFrame come from elsewhere than tables and views of the pipeline, which are "
            f'{", ".join(self.relations) or "none"}: begin with pipeline["NAME"].to_spark(), or give a DataFrame such '
            "a name by alias"
        )
