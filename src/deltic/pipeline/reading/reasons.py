"""The arguments of `why`, `why_not` and `lineage`, checked: a row, or values of some columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic import values
from deltic.catalog import ViewDefinitions
from deltic.engine.version import Version
from deltic.errors import DelticError, count_of
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.io.values import problem
from deltic.pipeline.names import find
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.why import Explanation, WhyNot

RowPattern = Sequence[Any] | Mapping[str, Any]
"""The values of all columns in order, or those of some by name."""


TableRows = list[tuple[str, tuple[Any, ...]]]
"""Rows, each with its table."""

Remains = Callable[[Mapping[str, Any], str, Mapping[str, Any]], bool]
"""Whether a row with these values remains without the rows of a table that have others."""

_MOST = 10
"""Rows that EXPLAIN WHY explains."""


class Reasons:
    """Explanations of rows of one version."""

    def __init__(
        self,
        definitions: Definitions,
        version: Version,
        earlier: Callable[[int], Version],
        through: bool = True,
        others: Sequence[ViewDefinitions] = (),
    ) -> None:
        """`others` are definitions beside those of the catalog, as that of a query; `earlier` has other epochs."""
        from deltic.why.search import ExplanationSearch

        self._catalog = definitions.catalog
        self._search = ExplanationSearch(definitions.catalog, version, through, others, earlier)

    def why(self, name: str, schema: Schema, row: RowPattern, depth: int | None, budget: int) -> Explanation:
        """Explain the first row with these values."""
        return self._search.why(name, self._search.row_with(name, bound(name, schema, row)), depth, budget)

    def whys(self, name: str) -> str:
        """Explain the first rows, one after the other."""
        rows = self._search.rows_with(name, {})
        explanations = [str(self._search.why(name, row)) for row in rows[:_MOST]]
        return "\n".join(
            [*explanations, f"… {len(rows) - _MOST:,} more rows"] if len(rows) > _MOST else explanations or ["no rows"]
        )

    def why_not(self, name: str, schema: Schema, row: RowPattern) -> WhyNot:
        """Explain why no row has these values."""
        from deltic.why.absence import why_not

        return why_not(self._search, name, bound(name, schema, row))

    def additions(
        self, name: str, pattern: Mapping[str, Any], most: int, makes: Callable[[TableRows], bool]
    ) -> list[TableRows]:
        """Return the smallest sets of table rows that would derive the row, as `makes` confirms."""
        from deltic.why.additions import Additions, additions

        schemas = self._catalog.table_schemas

        def given(rows: Additions) -> TableRows:
            """Return the rows as Python values, in order."""
            return [(table, (*_python(row, schemas[table]).values(),)) for table, row in sorted(rows, key=repr)]

        found = additions(self._search, name, pattern, most, lambda rows: makes(given(rows)))
        return [*map(given, found)]

    def why_nots(self, name: str) -> str:
        """Explain why a query has no rows, following views that lack the needed row."""
        from deltic.why import Absence
        from deltic.why.absence import why_not

        result = why_not(self._search, name, {})
        missing = [way.fails for way in result.ways if isinstance(way.fails, Absence)]
        views = [each for each in missing if each.relation in self._catalog.view_schemas]
        return "\n".join(map(str, [result, *(why_not(self._search, v.relation, v.pattern) for v in views)]))

    def lineage(self, name: str, schema: Schema, row: RowPattern, remains: Remains | None = None) -> pa.Table:
        """Return the rows of tables that rows rest on: columns `result`, `table`, and `row`, rows as JSON.

        Those without which a row `remains` are left out.
        """
        from deltic.why.lineage import lineage, possibly_needed

        tables, values = self._catalog.table_schemas, bound(name, schema, row)
        origins = lineage(self._search, name, values)
        if remains is not None:
            origins = (
                (result, table, leaf)
                for result, table, leaf in possibly_needed(self._search, name, values)
                if not remains(_python(result, schema), table, _python(leaf, tables[table]))
            )
        lines = [(_json(result, schema), table, _json(leaf, tables[table])) for result, table, leaf in origins]
        columns = zip(*lines, strict=True) if lines else [(), (), ()]
        return pa.table([pa.array(column, pa.string()) for column in columns], names=["result", "table", "row"])


def _python(row: Sequence[Any], schema: Schema) -> dict[str, Any]:
    """Return the Python values of a row, by column."""
    return {column.name: values.to_python(value, column.type) for value, column in zip(row, schema, strict=True)}


def _json(row: Sequence[Any], schema: Schema) -> str:
    return json.dumps(dict(zip(schema.names, row, strict=True)), default=str, ensure_ascii=False)


def bound(name: str, schema: Schema, row: RowPattern) -> dict[str, Any]:
    """Return the values by column, in their stored form; raises DelticError for unknown columns and wrong types."""
    if not isinstance(row, Mapping):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != len(schema):
            message = count_of(len(schema), "column")
            raise DelticError(
                f"{name} has {message}: {', '.join(schema.names)}; give a value of each, or a dict of some"
            )
        row = dict(zip(schema.names, row, strict=True))
    columns = {column.name: column for column in schema}
    result = {}
    for each, value in row.items():
        column = find(each, "column", columns, within=name)
        if (reason := problem(value, column)) is not None:
            raise DelticError(f"{name}, column {each}: {reason}")
        result[each] = values.of_python(value, column.type)
    return result
