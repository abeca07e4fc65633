"""How a view is maintained, as data: the relations stored for it, their delta queries, and the cost of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


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

    @classmethod
    def of_shards(cls, parts: Sequence[QueryPlan]) -> QueryPlan:
        """Return the query on all shards: the sums of its work, and the means of what is expected."""
        sums = {what: sum(getattr(part, what) for part in parts) for what in ("changed", "visited", "derived")}
        visited, derived = [part.expected_visited for part in parts], [part.expected_derived for part in parts]
        return replace(parts[0], **sums, expected_visited=_mean(visited), expected_derived=_mean(derived))


def _mean(numbers: Iterable[float | None]) -> float | None:
    """Return the mean of the known numbers; None if there are none."""
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None


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

    @classmethod
    def of_shards(cls, parts: Sequence[RelationPlan]) -> RelationPlan:
        """Return what is stored of the relation on all shards."""
        queries = tuple(map(QueryPlan.of_shards, zip(*(part.queries for part in parts), strict=True)))
        return replace(parts[0], bytes=sum(part.bytes for part in parts), queries=queries)

    def heading(self) -> str:
        """Return a line about what is stored."""
        orders = " ".join("[" + ",".join(order) + "]" for order in self.orders)
        kept = [self.keeps]
        kept += [f"refresh policy {self.refresh}"] * bool(self.refresh)
        kept += [f"sorted {orders}"] * bool(orders)
        kept += [f"{self.bytes / 1024:,.1f} KiB now"] * bool(self.bytes)
        return f"{self.relation}: {'; '.join(kept)}"


@dataclass(frozen=True)
class Size:
    """The memory of one arrangement of a relation."""

    relation: str
    role: str
    """Its role: "rows", "counts", or the state of an operator."""
    columns: tuple[str, ...]
    """The columns by which the rows are sorted, for rows and counts."""
    entries: int
    bytes: int
