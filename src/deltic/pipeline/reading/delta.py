"""The change of one view in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from deltic.circuit.tables import WEIGHT
from deltic.engine.changes import count
from deltic.pipeline.reading.rows import Rows


class Delta(Rows):
    """Rows with weights: 1 for a row that came, -1 for one that went.

    As a table it has the view's columns and one more, `__weight__`. Iteration gives pairs of a named tuple and its
    weight.
    """

    @property
    def columns(self) -> list[str]:
        return super().columns[:-1]

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        weights = chain.from_iterable(chunk.to_pylist() for chunk in self._table.column(WEIGHT).chunks)
        return zip(super().__iter__(), weights, strict=True)

    @property
    def inserted(self) -> int:
        """The number of inserted rows."""
        return count(self._weights())[0]

    @property
    def deleted(self) -> int:
        """The number of deleted rows."""
        return count(self._weights())[1]

    def _weights(self) -> Any:
        return self._table.column(WEIGHT).to_numpy()
