"""Top-k: the first rows in an order, of all rows or of each partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deltic.circuit.edges import EdgeType
from deltic.circuit.operators.base import Operator, change_of, delta_of
from deltic.circuit.operators.order import Order, check_parts, show_parts


@dataclass(frozen=True)
class Top(Operator):
    """Of the rows with equal `keys`, in `order`, at most `limit` rows from number `offset` on.

    A row of weight w is w consecutive rows; a row of negative weight is absent. Ties are broken by all columns, each
    ascending with NULL first, so that the result is deterministic.
    """

    keyword: ClassVar[str] = "top"
    keys: tuple[str, ...]
    order: tuple[Order, ...]
    limit: int | None
    offset: int = 0

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        check_parts(self, self.keys, self.order, source)
        if self.offset < 0 or (self.limit is not None and self.limit < 0):
            self.refuse("limit and offset are not negative", inputs)
        return source

    def arguments(self) -> str:
        limit = "" if self.limit is None else f"LIMIT {self.limit}"
        offset = f"OFFSET {self.offset}" if self.offset else ""
        return f"[{' '.join(filter(None, (show_parts(self.keys, self.order), limit, offset)))}]"


@dataclass(frozen=True)
class TopDelta(Top):
    """top(i + d) − top(i), computed on the partitions of d alone; its inputs are i and d."""

    keyword: ClassVar[str] = "top_delta"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return change_of(super().output((delta_of(self, inputs),), depth))
