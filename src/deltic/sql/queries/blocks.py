"""SELECT blocks: FROM, WHERE, GROUP BY, HAVING, QUALIFY, SELECT, DISTINCT, ORDER BY, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import compress, repeat

from sqlglot import exp

from deltic.circuit.expressions import conjunction
from deltic.errors import count_of
from deltic.sql.aggregates import in_order_of_rows
from deltic.sql.queries.clauses import (
    Clauses,
    SelectItem,
    but_keys,
    by_number,
    is_generated,
    keys_of,
    keys_of_group,
    meant,
    numbered,
    numbers_of,
    sort_key,
    unnamed,
    with_names,
)
from deltic.sql.queries.clock import Crossing, cross, reads_clock, with_clock, with_crossings, with_time
from deltic.sql.queries.froms import lower_from
from deltic.sql.queries.generators import exploded
from deltic.sql.queries.grouping import GroupedBlock
from deltic.sql.queries.naming import name_of
from deltic.sql.queries.ordering import first_of_each, limited, ordinal
from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.sets import distinct
from deltic.sql.queries.stars import is_star, starred
from deltic.sql.queries.subqueries import is_subquery, keep_where, prepared
from deltic.sql.queries.time_windows import TimeWindows, is_time_window
from deltic.sql.queries.trees import aggregates_of, conjuncts, outermost, replaced
from deltic.sql.queries.values import BlockValues
from deltic.sql.queries.windows import WindowCalls, written_out
from deltic.sql.scalars import settled
from deltic.sql.types import check_order
from deltic.values.types import Column

_REFUSED = {
    "connect": ("CONNECT BY", "write WITH RECURSIVE"),
    "into": ("SELECT INTO", "write CREATE VIEW … AS SELECT …"),
    "kind": ("SELECT AS STRUCT", ""),
    "match": ("MATCH_RECOGNIZE", ""),
    "sample": ("TABLESAMPLE", ""),
    "locks": ("FOR UPDATE", "leave it out"),
    "pivots": ("PIVOT", "write an aggregate with FILTER (WHERE …) for each value"),
}


def lower_block(select: exp.Select, scope: QueryScope) -> QueryRows:
    """Lower a SELECT; one that reads the time is correlated with the clock's row."""
    select, crossings = with_crossings(select, scope)
    if not reads_clock(select):
        return _Block(select, scope, crossings).lower()
    timed = with_clock(scope)
    rows = _Block(with_time(select), timed, crossings).lower()
    return rows.over(scope.nodes.keep(rows.node, [*scope.bound_names, *rows.names]))


class _Block:
    def __init__(self, select: exp.Select, scope: QueryScope, crossings: Sequence[Crossing]) -> None:
        self._select, self._scope, self._crossings = select, scope, crossings
        for key, (what, remedy) in _REFUSED.items():
            if select.args.get(key):
                raise scope.refuse(select, what, remedy)
        self._values = BlockValues(lower_from(select, scope), scope)
        self._select = self._by_names(select)

    def _by_names(self, select: exp.Select) -> exp.Select:
        """Replace column numbers in the keys of AGGREGATE by the columns."""
        if not any(e.find(exp.PositionalColumn) for e in select.expressions):
            return select
        named = select.copy()
        for place in [
            p for e in (*named.expressions, *named.args["group"].expressions) for p in e.find_all(exp.PositionalColumn)
        ]:
            there, index = self._values.rows.visible, ordinal(place.this)
            if index is None or not 1 <= index <= len(there):
                message = f"GROUP BY {place.this.sql()}: the rows have {count_of(len(there), 'column')}"
                raise self._scope.source.error(place, message)
            place.replace(exp.column(there[index - 1].name, there[index - 1].relation or None, quoted=True))
        return named

    def lower(self) -> QueryRows:
        self._where()
        items = self._items()
        having = self._clause("having", lambda node: sort_key(node, items, self._values, but_keys(items, self._select)))
        qualify = self._clause("qualify", lambda node: with_names(node, items, self._values))
        if qualify is not None and not any(node.find(exp.Window) for node in (qualify, *self._select.expressions)):
            message = "QUALIFY takes a window function, in it or in SELECT"
            raise self._scope.source.error(self._select.args["qualify"], message, "write WHERE or HAVING")
        order = tuple(sort_key(key, items, self._values) for key in self._order)
        first_of = tuple(numbered(node, items, "DISTINCT ON", self._values) for node in self._distinct_on)
        clauses = Clauses(tuple(items), having, qualify, order, first_of).map(self._written_out)
        self._leave_out_unread(clauses)
        clauses = self._grouped(*self._in_time(clauses))
        self._keep(clauses.having, self._clause("having", exp.Expression.copy))
        clauses = self._windowed(clauses)
        self._keep(clauses.qualify, self._clause("qualify", exp.Expression.copy))
        return self._selected(self._multiplied(clauses))

    # Clauses

    def _where(self) -> None:
        where = self._select.args.get("where")
        if where is not None:
            self._check_where(where)
            self._values.refuse_null(where.this, "WHERE")
            self._keep(meant(where.this, self._values), where.this, "WHERE")
        for crossing in self._crossings:
            cross(self._values, crossing)

    def _check_where(self, where: exp.Where) -> None:
        for part in aggregates_of(where.this):
            written = self._scope.source.written(part)
            raise self._scope.source.error(part, f"WHERE cannot have the aggregate {written}", "write HAVING")
        for part in outermost(where.this, lambda n: isinstance(n, exp.Window)):
            raise self._scope.source.error(part, "WHERE cannot have a window function", "write QUALIFY")
        for part in outermost(where.this, is_time_window):
            raise self._scope.source.error(part, "WHERE cannot have a window of time", "write it in a subquery")

    def _keep(self, condition: exp.Expression | None, written: exp.Expression | None, what: str = "HAVING") -> None:
        """Filter by a condition, as the user has `written` it, its parts without subqueries first."""
        parts, texts = ([] if each is None else conjuncts(each) for each in (condition, written))
        pairs = [*zip(parts, [[text] for text in texts] if len(texts) == len(parts) else repeat([]), strict=False)]
        with_query = [any(True for _ in outermost(part, is_subquery)) for part in parts]
        plain = [pair for pair, asks in zip(pairs, with_query, strict=True) if not asks]
        if plain:
            predicates = [self._values.predicate(part, what) for part, _ in plain]
            for predicate, (_, text) in zip(predicates, plain, strict=True):
                self._scope.nodes.words.mean_parts(conjuncts(predicate), text, self._scope.source)
            self._values.filter(conjunction(predicates))
        for part, text in compress(pairs, with_query):
            if not keep_where(part, self._values):
                predicate = self._values.predicate(prepared(part, self._values), what)
                self._scope.nodes.words.mean_parts([predicate], text, self._scope.source)
                self._values.filter(predicate)

    def _clause(self, key: str, change: Callable[[exp.Expression], exp.Expression]) -> exp.Expression | None:
        clause = self._select.args.get(key)
        return None if clause is None else change(clause.this)

    @property
    def _order(self) -> list[exp.Expression]:
        order = self._select.args.get("order")
        return list(order.expressions) if order else []

    @property
    def _distinct_on(self) -> list[exp.Expression]:
        distinct = self._select.args.get("distinct")
        on = distinct.args.get("on") if distinct else None
        return list(on.expressions) if isinstance(on, exp.Tuple) else [on] if on else []

    # What is selected

    def _items(self) -> list[SelectItem]:
        """Return the selected expressions; an alias of an earlier one may be used unless a column has that name."""
        items: list[SelectItem] = []
        for node in self._select.expressions:
            if node.meta.get("aggregated") and not any(True for _ in aggregates_of(node)):
                message = f"{self._scope.source.written(node)} in AGGREGATE has no aggregate"
                raise self._scope.source.error(node, message, "write it behind GROUP BY alone")
            if is_star(node):
                items += [
                    SelectItem(c.name, with_names(c.value, [], self._values), c.relation)
                    for c in starred(node, self._values)
                ]
            elif is_generated(node):
                items += (
                    [SelectItem("", with_names(node, [], self._values))] if self._has_groups else self._generated(node)
                )
            elif isinstance(node, exp.Aliases):
                raise self._scope.refuse(node, "several names for one expression")
            else:
                inner = node.this if isinstance(node, exp.Alias) else node
                items.append(
                    SelectItem(self._name(node, items), with_names(inner, items, self._values), self._relation(node))
                )
        return items

    def _relation(self, node: exp.Expression) -> str:
        """Return the relation of a selected column; none of other expressions."""
        there = self._values.rows.find(node) if isinstance(node, exp.Column) else []
        return there[0].relation if there else ""

    def _name(self, node: exp.Expression, items: Sequence[SelectItem]) -> str:
        """Return the name of a selected expression behind these."""
        if node.alias and not isinstance(node, exp.Window):
            return node.alias
        before = {item.name.lower() for item in items}
        return name_of(self._written_out(meant(node, self._values)), self._values, before)

    @property
    def _has_groups(self) -> bool:
        """Whether the block groups, so that generators multiply groups and not rows."""
        if self._select.args.get("group") is not None:
            return True
        return any(True for item in self._select.expressions for _ in aggregates_of(item))

    def _multiplied(self, clauses: Clauses) -> Clauses:
        """Multiply the groups by the generators in SELECT."""
        items = [self._generated(i.node) if is_generated(i.node) else [i] for i in clauses.items]
        return replace(clauses, items=tuple(item for made in items for item in made))

    def _generated(self, node: exp.Expression) -> list[SelectItem]:
        """Multiply the rows by those of a generator in SELECT."""
        names = [node.alias] if isinstance(node, exp.Alias) else [name.name for name in node.expressions]
        made = exploded(unnamed(node), self._values, names=names if isinstance(node, exp.Alias | exp.Aliases) else ())
        return [SelectItem(a.name, self._values.place(node, a.typed)) for a in made]

    def _leave_out_unread(self, clauses: Clauses) -> None:
        """Drop columns that no clause names, before window functions store the rows."""
        group = self._select.args.get("group")
        nodes = [*clauses, *([group] if group is not None else [])]
        if any(isinstance(part, exp.Window) or is_time_window(part) for node in nodes for part in node.walk()):
            self._values.keep({name.name.lower() for node in nodes for name in node.find_all(exp.Identifier)})

    def _in_time(self, clauses: Clauses) -> tuple[Clauses, exp.Group | None]:
        """Replace a time window in the clauses and GROUP BY by its start and end."""
        group = self._ordinals(self._select.args.get("group"), clauses.items)
        keys = list(group.expressions) if group is not None else []
        windows = TimeWindows(self._values, [*clauses, *keys], keys)
        for key in keys:
            key.replace(windows.key(key))
        return clauses.map(windows.written_out), group

    def _grouped(self, clauses: Clauses, group: exp.Group | None) -> Clauses:
        """Return the clauses over groups, if there are any."""
        has_calls = any(True for node in clauses for _ in aggregates_of(node))
        if group is None and not has_calls and clauses.having is None:
            return clauses
        self._check_order(call for node in clauses for call in aggregates_of(node))
        nodes = [part for item in clauses.items for part in keys_of(item.node)]
        groups = GroupedBlock.of(self._values, group, nodes)
        rewritten = clauses.map(groups.rewritten)
        self._values = groups.lower()
        return rewritten

    def _check_order(self, calls: Iterable[exp.Expression]) -> None:
        """Refuse aggregates whose values Spark has in the order of a subquery: they have an order of their own."""
        within = self._select.args["from_"].this if self._select.args.get("from_") else None
        query = within.this if isinstance(within, exp.Subquery) and not self._select.args.get("joins") else None
        if query is None or not query.args.get("order") or query.args.get("limit") or query.args.get("offset"):
            return
        (first, *_) = query.args["order"].expressions
        for call in calls:
            listed = in_order_of_rows(call)
            if listed is not None and (first.args.get("desc") or first.this != listed):
                written = self._scope.source.written(call)
                message = f"{written} does not follow the order of a subquery"
                hint = "write listagg(…) WITHIN GROUP (ORDER BY …), min_by or max_by, or leave ORDER BY out"
                raise self._scope.source.error(call, message, hint)

    def _ordinals(self, group: exp.Group | None, items: Sequence[SelectItem]) -> exp.Group | None:
        """Replace numbers and names in GROUP BY by the selected expressions."""
        if group is None:
            return None
        if group.args.get("all") and not group.expressions and self._values.rows.find(exp.column("all")):
            return exp.Group(expressions=[exp.column("all")])
        copy = group.copy()
        for key in keys_of_group(copy):
            key.replace(keys_of(numbered(key, items, "GROUP BY", self._values)))
        return copy

    # Windows

    def _windowed(self, clauses: Clauses) -> Clauses:
        """Replace window functions by placeholders, those in others first; HAVING is done by now."""
        done = replace(clauses, having=None)
        while any(True for node in done for _ in outermost(node, lambda part: isinstance(part, exp.Window))):
            done = done.map(WindowCalls(self._values, done).placed)
        return done

    def _written_out(self, node: exp.Expression) -> exp.Expression:
        """Expand named windows in an expression."""
        named: dict[str, exp.Window] = {}
        for window in self._select.args.get("windows") or ():
            if named.setdefault(window.this.name.lower(), window) is not window:
                raise self._scope.source.error(window.this, f"WINDOW defines {window.this.name} twice")
        return written_out(node, named, self._values)

    # The end

    def _selected(self, clauses: Clauses) -> QueryRows:
        nodes, scope, items, order = self._scope.nodes, self._scope, clauses.items, clauses.order
        values = [self._values.typed(prepared(item.node, self._values)) for item in items]
        if self._select.args.get("distinct") and not clauses.first_of:
            for item, value in zip(items, values, strict=True):
                check_order(value.type.type, item.node, "DISTINCT", scope.source)
        result = [settled(value) for value in values]
        columns = [
            Column(nodes.fresh(i.name), v.type.type, v.type.nullable) for i, v in zip(items, result, strict=True)
        ]
        for item, c, value in zip(items, columns, values, strict=True):
            if isinstance(value.expression, exp.Column):
                nodes.words.copy(c.name, value.expression.name)
            else:
                nodes.words.write([c.name], item.node, scope.source)
        shown = zip(items, columns, values, strict=True)
        attributes = tuple(
            QueryColumn(i.name, c, i.relation, is_void=v.is_null, modifier=v.modifier) for i, c, v in shown
        )
        node = nodes.extend(self._values.rows.node, columns, [v.expression for v in result])
        out = [*scope.bound_names, *(c.name for c in columns)]
        both = self._values.over(self._values.rows.over(node))
        if clauses.first_of:
            node = first_of_each(clauses.first_of, QueryRows(node, attributes), both, order)
            both = both.over(QueryRows(node, self._values.rows.attributes))
        elif self._select.args.get("distinct"):
            rows = distinct(QueryRows(nodes.keep(node, out), attributes), scope)
            return limited(self._select, rows, scope, self._values.over(rows), self._over_selected(order, items))
        shown_as = zip(result, columns, strict=True)
        taken = {v.expression.name: c.name for v, c in shown_as if isinstance(v.expression, exp.Column)}
        rows = QueryRows(node, attributes).in_order(both.rows.order, taken)
        numbers = numbers_of(items)
        keys = [by_number(key, numbers) for key in order]
        made = limited(self._select, rows, scope, both, keys)
        return made.over(nodes.keep(made.node, out))

    def _over_selected(self, order: Sequence[exp.Expression], items: Sequence[SelectItem]) -> list[exp.Expression]:
        """Return the sort keys after DISTINCT, which may only use selected expressions.

        Raises ProgramError for others.
        """
        numbers = numbers_of(items)

        def named(part: exp.Expression) -> exp.Expression:
            return exp.column(items[numbers[part] - 1].name, quoted=True)

        result = []
        for key in order:
            over = by_number(key, numbers)
            over = replaced(key, lambda part: part in numbers, named) if over is key else over
            if any(self._values.is_placed(part) for part in over.find_all(exp.Column)):
                message = "SELECT DISTINCT is ordered by what it selects"
                raise self._scope.source.error(
                    key, message, "select this, too, or order by the name of something selected"
                )
            result.append(over)
        return result
