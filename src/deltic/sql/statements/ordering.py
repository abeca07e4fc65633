"""The order of a query's answer: views have none, a query with a final ORDER BY has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from deltic.sql.queries.ordering import is_all, of_first, ordinal
from deltic.sql.text import SourceText

KEY = "order by "


@dataclass(frozen=True)
class Key:
    """A column of the answer that orders its rows: its name, or its position from 0, None for each; and its place."""

    column: str | int | None
    descending: bool
    nulls_first: bool
    node: exp.Expression

    def positions(self, names: Sequence[str], source: SourceText) -> Sequence[int]:
        """Return the columns' positions among columns of these names. Raises ProgramError where it is none of them."""
        if self.column is None:
            return [number for number, name in enumerate(names) if not name.startswith(KEY)]
        if isinstance(self.column, str):
            result = next((i for i, name in enumerate(names) if name.lower() == self.column.lower()), -1)
        else:
            result = self.column
        if not 0 <= result < len(names):
            shown = ", ".join(name for name in names if not name.startswith(KEY))
            raise source.error(self.node, "the result has no such column to order by", f"its columns are {shown}")
        return [result]


def ordered(query: exp.Expression, source: SourceText) -> tuple[exp.Expression, tuple[Key, ...]]:
    """Return the query with what it is ordered by as columns after the others, called `order by 0`, …; and the
    order.
    """
    order = query.args.get("order")
    if order is None:
        return query, ()
    query = query.copy()
    distinct = query.args.get("distinct") if isinstance(query, exp.Select) else None
    picks = distinct is not None and distinct.args.get("on") is not None
    keys: list[Key] = []
    for number, part in enumerate(order.expressions):
        if is_all(part):
            keys.append(Key(None, bool(part.args.get("desc")), bool(part.args.get("nulls_first")), part))
            continue
        is_select = isinstance(query, exp.Select) and (distinct is None or picks)
        key = part.this if is_select else of_first(part.this, query)
        shown = _shown(key, query)
        if shown is None:
            shown = f"{KEY}{number}"
            query, distinct = (query, distinct) if is_select else (_around(query), None)
            assert isinstance(query, exp.Select)
            query.select(exp.alias_(key.copy(), shown, quoted=True), copy=False)
        keys.append(Key(shown, bool(part.args.get("desc")), bool(part.args.get("nulls_first")), part.this))
    if not picks and not query.args.get("limit") and not query.args.get("offset"):
        query.set("order", None)
    return query, tuple(keys)


def _around(query: exp.Expression) -> exp.Select:
    """Return a SELECT of all that a query has, whose order stays where it says which rows these are."""
    if not query.args.get("limit") and not query.args.get("offset"):
        query.set("order", None)
    return exp.select("*").from_(exp.Subquery(this=query), copy=False)


def _shown(node: exp.Expression, query: exp.Expression) -> str | int | None:
    """Return the column of the result that an ORDER BY means, if it is one."""
    number = ordinal(node)
    if number is not None:
        return number - 1
    if isinstance(node, exp.Column) and not node.table:
        names = [name.lower() for name in query.named_selects] if isinstance(query, exp.Select) else None
        if names is None or node.name.lower() in names:
            return node.name
    return None
