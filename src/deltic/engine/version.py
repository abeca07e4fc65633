"""What an engine has published of an epoch: tables and views to be read, by any thread, while other epochs go on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


ITERATION = "__iteration__"
"""The column of `Version.history` that has the iterations."""


class Version(Protocol):
    """The tables and views as of the epoch of number `epoch`; they never change."""

    epoch: int

    def read(
        self, name: str, *, table: bool = False, counted: bool = False, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """The rows of a view, or of a table, in no particular order: those of positive weight; all columns, or some.

        A row of a set is there once, one of a bag as often as it weighs; where `counted`, each stands once, with a
        column WEIGHT, and a view that is a Z-set also has its rows of negative weight. Where a table and a view have
        one name, the view is meant unless `table` is true.
        """

    def lookup(self, name: str, key: Mapping[str, object], *, counted: bool = False) -> pa.Table:
        """The rows of a table or view with these values in these columns, as `read` gives them."""

    def history(self, name: str, keys: pa.Table, members: Collection[str]) -> pa.Table | None:
        """How rows of a recursive view come and go: by how much the weight of a row changes.

        They are those that agree with one of the keys in the columns that these have; all where they have no columns.

        The changes stand in WEIGHT, each at the iteration in ITERATION, those of a row in order. None where the
        iterations that are kept are not those of a recursion of these `members` alone.
        """
        return None

    def lookup_all(self, name: str, keys: pa.Table) -> pa.Table:
        """The rows of a table that agree with one of these in the columns that they have, as `read` gives them."""

    def count_each(self, name: str, keys: pa.Table) -> npt.NDArray[np.int64]:
        """How many rows of a table that is a set agree with each of these, int64[n], in the columns that they have."""

    def entries(self, name: str) -> int:
        """How many rows a table has, or more where some of its changes cancel; it costs nothing to know."""

    def count(self, name: str, *, table: bool = False) -> int:
        """The number of rows of a table or view: those that `read` gives."""
