"""How a view is maintained, as data: the relations stored for it, their delta queries, and the cost of these."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueryPlan:
    """A delta query: its search, and its work since its engine was created.

    `changed`, `visited` and `derived` count changed rows, rows and index entries visited, and derivations. Expected
    numbers are for one changed row, with the present contents; None before the query has run.
    """

    text: str
    changed: int
    visited: int
    derived: int
    steps: tuple[str, ...] = ()
    steps_by_groups: tuple[str, ...] = ()
    """The plan for a large change, if it differs."""
    expected_visited: float | None = None
    expected_derived: float | None = None


@dataclass(frozen=True)
class RelationPlan:
    """What is stored of a relation, and the delta queries that maintain it."""

    relation: str
    keeps: str
    """Its kind, and what is stored of its rows."""
    refresh: str
    """Its own refresh policy; "" if it has none."""
    orders: tuple[tuple[str, ...], ...]
    """The column orders in which its rows are sorted."""
    bytes: int
    notes: tuple[str, ...]
    """Its definition apart from queries, such as an aggregate."""
    queries: tuple[QueryPlan, ...]

    def heading(self) -> str:
        """Return a line about what is stored."""
        orders = " ".join("[" + ",".join(order) + "]" for order in self.orders)
        kept = [self.keeps]
        kept += [f"refresh policy {self.refresh}"] * bool(self.refresh)
        kept += [f"sorted {orders}"] * bool(orders)
        kept += [f"{self.bytes / 1024:,.1f} KiB now"] * bool(self.bytes)
        return f"{self.relation}: {'; '.join(kept)}"
