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
    """A view or table of a pipeline. It holds no rows: each call gives those after the last transaction.

    Any thread may call, while others commit transactions: what one call gives is of one epoch.
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

        With `counted` each row stands once, and its weight in a column `__weight__` behind the others; weights below
        zero, which a flow's `minus` can make, are seen there alone.
        """
        return Rows(TableBatch(self._version().read(self.name, counted=counted)), self.spark)

    def lookup(self, **key: Any) -> Rows:
        """The rows with these values in these columns, as `rows` gives them.

        `deltic.between(low, high)` stands for all values in a range. Where the rows are kept in an order that begins
        with these columns, as the declared one is, this costs what is found; other look-ups go through all rows, and
        ranges of texts through those that the other columns leave. Raises DelticError for a column that there is not,
        or a value that is not one of its column.
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
        """Why a row with these values is there; `Pipeline.why` says more."""
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
        """How many rows there are, for a display, which begins no epoch."""
        version = self._displayed()
        return count_of(version.count(self.name), "row") if version.epoch else "no epoch yet"
