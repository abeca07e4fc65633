"""The changes of views as an epoch's result gives them: counted at once, made into a table when one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


@dataclass(frozen=True)
class ViewChange:
    """How a view changed, as a batch: rows that came, rows that went, each as often as it weighs.

    A table is rebuilt by each call, and of the state as it was after the epoch, whatever came later. Until then the
    change takes the memory that it takes in the engine.
    """

    inserted: int
    deleted: int
    rows: int
    decode: Callable[[], pa.Table]

    @classmethod
    def of(cls, rows: pa.Table) -> ViewChange:
        """The change that consists of these rows, with their weights in the last column."""
        return cls(*count(rows.columns[-1].to_numpy()), rows.num_rows, lambda: rows)

    def to_arrow(self) -> pa.Table:
        """The rows with their weights."""
        return self.decode()

    def count(self) -> int:
        """The number of rows, weights apart."""
        return self.rows

    def parts(self) -> Iterator[pa.Table]:
        """The rows with their weights."""
        yield self.to_arrow()


class Changes(Mapping[str, "pa.Table"]):
    """The change of each view that changed, by its name, as a table; `batch` gives it as a handle."""

    def __init__(self, changes: Mapping[str, ViewChange] | None = None) -> None:
        self._changes = dict(changes or {})

    def __getitem__(self, view: str) -> pa.Table:
        return self._changes[view].to_arrow()

    def __iter__(self) -> Iterator[str]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    def batch(self, view: str) -> ViewChange | None:
        """The change of a view as a handle; None where it did not change."""
        return self._changes.get(view)

    def handles(self) -> Iterable[ViewChange]:
        """The changes of all views, as handles."""
        return self._changes.values()

    def counts(self) -> dict[str, tuple[int, int]]:
        """How many rows of each view came and went; no table is made."""
        return {name: (change.inserted, change.deleted) for name, change in self._changes.items()}


def count(weights: npt.NDArray[np.int64]) -> tuple[int, int]:
    """How many rows came and how many went, by weights int64[n]."""
    return int(weights[weights > 0].sum()), int(-weights[weights < 0].sum())
