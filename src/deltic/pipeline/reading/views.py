"""Views and tables as they are now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from deltic.engine.batches import TableBatch
from deltic.engine.between import Between, has_ranges
from deltic.engine.version import Version
from deltic.errors import DelticError, count_of
from deltic.html import table
from deltic.pipeline.io.values import problem
from deltic.pipeline.names import find
from deltic.pipeline.reading.rows import Rows
from deltic.pipeline.reading.tabular import Tabular
from deltic.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from deltic.why import Explanation


__all__ = ["Between", "View"]


class View(Tabular):
    """A view or table of a pipeline. It holds no rows: each call reads the last committed epoch.

    Any thread may call it while others commit transactions.
    """

    def __init__(
        self,
        name: str,
        schema: Schema,
        version: Callable[[], Version],
        displayed: Callable[[], Version],
        spark: SparkSession | None,
        place: str | None,
        why: Callable[[Mapping[str, Any]], Explanation],
    ) -> None:
        self.name = name
        self.schema = schema
        self.place = place
        """Where the state is kept that has it; None for memory."""
        self._version, self._displayed, self._why = version, displayed, why
        self.spark = spark

    def rows(self, counted: bool = False) -> Rows:
        """All rows, in no particular order: those of a bag as often as they weigh.

        With `counted` each row occurs once, with its weight in a last column `__weight__`; negative weights, which a
        flow's `minus` can make, appear only there.
        """
        return Rows(TableBatch(self._version().read(self.name, counted=counted)), self.spark)

    def lookup(self, **key: Any) -> Rows:
        """The rows with these values in these columns, as `rows` gives them.

        `deltic.between(low, high)` matches a range. Where an order of the relation begins with these columns, as the
        declared one does, this costs the result; other look-ups scan all rows, and ranges of texts the rows that the
        other columns leave. Raises DelticError for an unknown column or a value of another type.
        """
        columns = {column.name: column for column in self.schema}
        for name, value in key.items():
            column = find(name, "column", columns, within=self.name)
            if isinstance(value, Between) and not has_ranges(column.type):
                raise DelticError(f"{self.name}, column {name}: ranges of type {column.type} are not looked up")
            for each in value.bounds if isinstance(value, Between) else [value]:
                reason = problem(each, column)
                if reason is not None:
                    raise DelticError(f"{self.name}, column {name}: {reason}")
        return Rows(TableBatch(self._version().lookup(self.name, key)), self.spark)

    def why(self, **values: Any) -> Explanation:
        """Why a row with these values is present; see `Pipeline.why`."""
        return self._why(values)

    def to_arrow(self) -> pa.Table:
        return self.rows().to_arrow()

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def to_spark(self) -> DataFrame:
        """The rows as a Spark DataFrame, in the pipeline's session or the active one, with this name as its alias."""
        return self.rows().to_spark().alias(self.name)

    def __len__(self) -> int:
        return self._version().count(self.name)

    def _repr_html_(self) -> str:
        columns = [(c.name, str(c.type), "yes" if c.nullable else "no") for c in self.schema]
        return table(("column", "type", "nullable"), columns, self.name, self._size())

    def __repr__(self) -> str:
        return f"{self.name}{self.schema}: {self._size()}"

    def _size(self) -> str:
        """The number of rows for a display, without starting an epoch."""
        version = self._displayed()
        return count_of(version.count(self.name), "row") if version.epoch else "no epoch yet"
