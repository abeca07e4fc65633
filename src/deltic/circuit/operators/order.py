"""Orders and partitions of rows, which window functions have, too; and top-k: the first rows in an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Operator, change_of, delta_of
from deltic.values.words import word


@dataclass(frozen=True)
class Order:
    """One column of an order; NULLs come before all values where `nulls_first`, after them otherwise.

    In SQL, NULLs come first by default in ascending order and last in descending order.
    """

    column: str
    descending: bool = False
    nulls_first: bool = True

    def __str__(self) -> str:
        direction, nulls = "DESC" if self.descending else "ASC", "FIRST" if self.nulls_first else "LAST"
        return f"{word(self.column)} {direction} NULLS {nulls}"


def show_parts(keys: Sequence[str], order: Sequence[Order]) -> str:
    """Return the PARTITION BY and ORDER BY clauses, where present."""
    clauses = [f"PARTITION BY {', '.join(map(word, keys))}"] * bool(keys)
    clauses += [f"ORDER BY {', '.join(map(str, order))}"] * bool(order)
    return " ".join(clauses)


def check_parts(operator: Operator, keys: Sequence[str], order: Sequence[Order], source: ZSetType) -> None:
    """Raise the operator's CircuitError where its input cannot be partitioned by `keys` and ordered by `order`."""
    types = source.schema.types
    operator.check_columns((*keys, *(o.column for o in order)), [source])
    for name in (o.column for o in order):
        if not types[name].is_ordered:
            operator.refuse(f"column {name} cannot be ordered: it is a {types[name]}", [source])
    if len(set(keys)) != len(keys):
        operator.refuse("a column partitions once", [source])


class Top(Operator):
    """Of the rows with equal `keys`, in `order`, at most `limit` rows from number `offset` on.

    A row of weight w is w consecutive rows; a row of negative weight is absent. Ties are broken by all columns, each
    ascending with NULL first, so that the result is deterministic.
    """

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


class TopDelta(Top):
    """top(i + d) − top(i), computed on the partitions of d alone; its inputs are i and d."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return change_of(super().output((delta_of(self, inputs),), depth))
