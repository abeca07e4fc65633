"""Conversions of rows: tables and frames of other libraries, and named tuples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from deltic.extras import required

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SHOWN = 10


class Tabular(ABC):
    """Rows with named columns: `to_arrow` gives all other forms.

    Whatever reads Arrow's streams takes them as they are: `polars.DataFrame(rows)`, `pyarrow.table(rows)`, DuckDB.
    """

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The names of the columns."""

    def to_pandas(self, floats: bool = False) -> pd.DataFrame:
        """The rows as a pandas DataFrame; with `floats`, decimals as float64 instead of objects.

        Raises DelticError where pandas is not installed.
        """
        required("pandas", "to_pandas")
        frame: pd.DataFrame = (_with_floats(self.to_arrow()) if floats else self.to_arrow()).to_pandas()
        return frame

    df = to_pandas
    """As DuckDB calls it."""

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame; raises DelticError where polars is not installed."""
        return required("polars", "to_polars").from_arrow(self.to_arrow())

    def head(self, count: int) -> pa.Table:
        """The first rows as an Arrow table."""
        return self.to_arrow().slice(0, count)

    def show(self, count: int = 20) -> None:
        """Print the first rows, and how many more there are."""
        print(self._text(count))  # noqa: T201 it is what `show` is for

    def __iter__(self) -> Iterator[Any]:
        names, table = tuple(self.columns), self.to_arrow()
        make = row_type(names)._make
        for batch in table.to_batches(max_chunksize=1 << 16):
            lists = [column.to_pylist() for column in batch.columns[: len(names)]]
            yield from map(make, zip(*lists, strict=True)) if lists else [make(())] * batch.num_rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self.to_arrow().__dataframe__(nan_as_null, allow_copy)

    def _text(self, count: int = _SHOWN) -> str:
        """The column names, the first rows, and the number of further ones, as lines."""
        lines = [f"  {row}" for row in islice(self, count)]
        more = len(self.to_arrow()) - len(lines)
        return "\n".join([", ".join(self.columns), *lines, *([f"  and {more:,} more"] if more else [])])


@cache
def row_type(names: Sequence[str]) -> Any:
    """The named tuple class for these columns; invalid field names become _0, _1, … by position.

    Its values are printed and pickled as plain tuples.
    """
    base = namedtuple("Row", names, rename=True)  # type: ignore[misc]
    return type("Row", (base,), {"__slots__": (), "__repr__": tuple.__repr__, "__reduce__": _reduced})


def _reduced(row: tuple[Any, ...]) -> tuple[type, tuple[tuple[Any, ...]]]:
    """Pickle a row as a plain tuple."""
    return tuple, (tuple(row),)


def _with_floats(table: pa.Table) -> pa.Table:
    """Return the table with decimals as float64."""
    import pyarrow as pa

    fields = [f.with_type(pa.float64()) if pa.types.is_decimal(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))
