"""How a view is kept fresh, as data: the relations that are kept for it, their delta queries, and what these cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueryPlan:
    """A delta query: how it is searched, and what it did since its engine was made.

    `changed`, `visited` and `derived` count rows of changes, rows and index entries visited, and derivations. What is
    expected is for one changed row, with the present contents; None before the query has followed any.
    """

    text: str
    changed: int
    visited: int
    derived: int
    steps: tuple[str, ...] = ()
    steps_by_groups: tuple[str, ...] = ()
    """The plan for a large change, where it is another."""
    expected_visited: float | None = None
    expected_derived: float | None = None


@dataclass(frozen=True)
class RelationPlan:
    """What is kept of a relation, and the delta queries by which it follows what it reads."""

    relation: str
    keeps: str
    """Its kind, and what of its rows is kept."""
    refresh: str
    """Its own refresh policy, "" where it has none."""
    orders: tuple[tuple[str, ...], ...]
    """The column orders in which its rows are sorted."""
    bytes: int
    notes: tuple[str, ...]
    """What defines it beside queries, such as an aggregate."""
    queries: tuple[QueryPlan, ...]

    def heading(self) -> str:
        """What is kept, on a line."""
        orders = " ".join("[" + ",".join(order) + "]" for order in self.orders)
        kept = [self.keeps]
        kept += [f"refresh policy {self.refresh}"] * bool(self.refresh)
        kept += [f"sorted {orders}"] * bool(orders)
        kept += [f"{self.bytes / 1024:,.1f} KiB now"] * bool(self.bytes)
        return f"{self.relation}: {'; '.join(kept)}"
