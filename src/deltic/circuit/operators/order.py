"""Orders and partitions of rows, which top-k and window functions share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltic.circuit.edges import ZSetType
from deltic.values.words import word

if TYPE_CHECKING:
    from deltic.circuit.operators.base import Operator


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
    """The PARTITION BY and ORDER BY clauses, where present."""
    clauses = [f"PARTITION BY {', '.join(map(word, keys))}"] * bool(keys)
    clauses += [f"ORDER BY {', '.join(map(str, order))}"] * bool(order)
    return " ".join(clauses)


def check_parts(operator: Operator, keys: Sequence[str], order: Sequence[Order], source: ZSetType) -> None:
    """Raise the operator's CircuitError where its input cannot be partitioned by `keys` and ordered by `order`."""
    types = source.schema.types
    for name in (*keys, *(o.column for o in order)):
        if name not in types:
            operator.refuse(f"column {name} is not in its input", [source])
    for name in (o.column for o in order):
        if not types[name].is_ordered:
            operator.refuse(f"column {name} cannot be ordered: it is a {types[name]}", [source])
    if len(set(keys)) != len(keys):
        operator.refuse("a column partitions once", [source])
