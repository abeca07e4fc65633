"""What changed: the rows of one view that came and went in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deltic.engine.protocol import WEIGHT
from deltic.pipeline.rows import Rows


class Delta(Rows):
    """Rows with weights: 1 for a row that came, -1 for one that went.

    As a table it has the view's columns and one more, `__weight__`. Iteration gives pairs of row and weight.
    """

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for *row, weight in super().__iter__():
            yield tuple(row), weight

    @property
    def inserted(self) -> int:
        """How many rows came."""
        return count(self._table, 1)

    @property
    def deleted(self) -> int:
        """How many rows went."""
        return count(self._table, -1)


def count(changes: Any, sign: int) -> int:
    """How many rows of a batch of changes came (sign 1) or went (sign -1), each as often as its weight says."""
    import pyarrow.compute as pc

    weights = changes[WEIGHT]
    total = pc.sum(weights).as_py() or 0
    absolute = pc.sum(pc.abs(weights)).as_py() or 0
    return int(absolute + sign * total) // 2
