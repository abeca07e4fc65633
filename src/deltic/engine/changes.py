"""The changes of views in an epoch's result: counted at once, converted to a table on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltic.lazy import np, pa

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class ViewChange:
    """The change of a view, as a batch: inserted and deleted rows, each counted as often as its weight.

    Each call builds a new table, from the state after the epoch, whatever changed later. Until then the change only
    takes the engine's memory for it.
    """

    inserted: int
    deleted: int
    rows: int
    decode: Callable[[], pa.Table]

    @classmethod
    def of(cls, rows: pa.Table) -> ViewChange:
        """Return the change with these rows, whose last column has their weights."""
        return cls(*count(rows.columns[-1].to_numpy()), rows.num_rows, lambda: rows)

    def to_arrow(self) -> pa.Table:
        """Return the rows with their weights."""
        return self.decode()

    def count(self) -> int:
        """Return the number of rows, not counting weights."""
        return self.rows

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows with their weights."""
        yield self.to_arrow()


class Changes(Mapping[str, "pa.Table"]):
    """The change of each view that changed, by name, as a table; `batch` returns it as a handle."""

    def __init__(self, changes: Mapping[str, ViewChange] | None = None) -> None:
        self._changes = dict(changes or {})

    def __getitem__(self, view: str) -> pa.Table:
        return self._changes[view].to_arrow()

    def __iter__(self) -> Iterator[str]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    def batch(self, view: str) -> ViewChange | None:
        """Return the change of a view as a handle; None if it did not change."""
        return self._changes.get(view)

    def handles(self) -> Iterable[ViewChange]:
        """Return the changes of all views, as handles."""
        return self._changes.values()

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return the numbers of inserted and deleted rows of each view, without building tables."""
        return {name: (change.inserted, change.deleted) for name, change in self._changes.items()}


def count(weights: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Return the numbers of inserted and deleted rows, from weights int64[n]."""
    inserted = int(np.add.reduce(np.maximum(weights, 0)))
    return inserted, inserted - int(np.add.reduce(weights))
