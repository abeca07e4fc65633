"""What `why`, `why_not` and `lineage` are asked with: a row, or values of some columns, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltic import values
from deltic.engine.version import Version
from deltic.errors import DelticError, count_of
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.io.values import problem
from deltic.pipeline.names import find
from deltic.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from deltic.why import Explanation, WhyNot

RowPattern = Sequence[Any] | Mapping[str, Any]
"""The values of all columns in order, or those of some by name."""


class Reasons:
    """Explanations of rows of one version."""

    def __init__(self, definitions: Definitions, version: Version, through: bool = True) -> None:
        from deltic.why.search import Search

        self._catalog = definitions.catalog
        self._search = Search(definitions.catalog, version, through)

    def why(self, name: str, schema: Schema, row: RowPattern, depth: int | None, budget: int) -> Explanation:
        """Why a row is there; of several with these values the first one."""
        return self._search.why(name, self._search.row_with(name, bound(name, schema, row)), depth, budget)

    def why_not(self, name: str, schema: Schema, row: RowPattern) -> WhyNot:
        """Why no row is there with these values."""
        from deltic.why.absence import why_not

        return why_not(self._search, name, bound(name, schema, row))

    def lineage(self, name: str, schema: Schema, row: RowPattern) -> pa.Table:
        """The rows of tables that the explanation of a row ends in: their tables, and the rows as JSON."""
        import json

        import pyarrow as pa

        leaves = self.why(name, schema, row, None, 1_000_000).leaves()
        columns = {table: self._catalog.tables[table].schema.names for table, _ in leaves}
        rows = [dict(zip(columns[table], row, strict=True)) for table, row in leaves]
        written = [json.dumps(row, default=str, ensure_ascii=False) for row in rows]
        return pa.table({"table": pa.array([t for t, _ in leaves], pa.string()), "row": pa.array(written, pa.string())})


def bound(name: str, schema: Schema, row: RowPattern) -> dict[str, Any]:
    """The values by column, as rows have them; raises DelticError for columns and values that do not fit."""
    if not isinstance(row, Mapping):
        if isinstance(row, str) or len(row) != len(schema):
            told = count_of(len(schema), "column")
            raise DelticError(f"{name} has {told}: {', '.join(schema.names)}; give a value of each, or a dict of some")
        row = dict(zip(schema.names, row, strict=True))
    columns = {column.name: column for column in schema}
    result = {}
    for each, value in row.items():
        column = find(each, "column", columns, within=name)
        if (reason := problem(value, column)) is not None:
            raise DelticError(f"{name}, column {each}: {reason}")
        result[each] = values.of_python(value, column.type)
    return result
