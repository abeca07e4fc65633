"""Subqueries in expressions, by decorrelation.

A correlated subquery is lowered once for all rows around it, under its *bindings*: the set of the values that it uses
of them. Every row of its result has the values for which it is one, so that a join on them brings both together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from deltic.circuit.expressions import column, is_not_null, is_null, literal, null
from deltic.circuit.types import Column, Type, ValueType
from deltic.sql.queries.nodes import Nodes, true
from deltic.sql.queries.rows import Bindings, Rows
from deltic.sql.queries.trees import aggregates_of, replaced
from deltic.sql.queries.values import Values
from deltic.sql.scalars import Typed, coerced, common_type


def bind(values: Values, query: exp.Expression) -> Rows:
    """The rows of a subquery for the rows around it; they have the columns that it uses of these too."""
    scope, outer = values.scope, values.rows
    trial = Bindings(scope.nodes.distinct(outer.node), outer, scope.bindings)
    scope.lower(query, scope.bound(trial))
    if not trial.used:
        return scope.lower_alone(query)
    node = scope.nodes.distinct(scope.nodes.keep(outer.node, list(trial.used)))
    return scope.lower(query, scope.bound(Bindings(node, outer, scope.bindings)))


def is_subquery(node: exp.Expression) -> bool:
    """Whether a node of an expression is one that is lowered here."""
    return isinstance(node, exp.Query | exp.Exists) or (isinstance(node, exp.In) and bool(node.args.get("query")))


def prepared(node: exp.Expression, values: Values) -> exp.Expression:
    """A copy of an expression with placeholders for its subqueries, whose values the rows have then."""
    return replaced(node, is_subquery, lambda part: value_of(part, values))


def value_of(node: exp.Expression, values: Values) -> exp.Expression:
    """The placeholder of a subquery's value: its row's only column, or whether it holds."""
    if isinstance(node, exp.Exists):
        return values.place(node, _marked(values, _exists(values, node.this)))
    if isinstance(node, exp.In):
        return values.place(node, _membership(values, node).mark())
    return values.place(node, _scalar(values, node))


def keep_where(node: exp.Expression, values: Values) -> bool:
    """Keep the rows for which EXISTS or IN, maybe under NOT, is true; whether the condition is of that kind."""
    inner, negated = node, False
    while isinstance(inner, exp.Not | exp.Paren):
        negated ^= isinstance(inner, exp.Not)
        inner = inner.this
    if isinstance(inner, exp.Exists):
        matches = _exists(values, inner.this)
        nodes = values.scope.nodes
        values.go_on((nodes.antijoin if negated else nodes.semijoin)(values.rows.node, matches))
    elif isinstance(inner, exp.In) and inner.args.get("query"):
        _membership(values, inner).filter(negated)
    else:
        return False
    return True


def _bound_names(values: Values, rows: Rows) -> list[str]:
    """The columns of a subquery's rows that it has of the rows around it."""
    around = values.scope.nodes.schema(values.rows.node).names
    return [name for name in values.scope.nodes.schema(rows.node).names if name in around]


def _exists(values: Values, query: exp.Expression) -> int:
    """The bindings for which a query has rows."""
    rows = bind(values, _query(query))
    return values.scope.nodes.keep(rows.node, _bound_names(values, rows))


def _query(node: exp.Expression) -> exp.Expression:
    found = node.this if isinstance(node, exp.Subquery) and not node.args.get("limit") else node
    assert isinstance(found, exp.Expression)
    return found


def _marked(values: Values, matches: int) -> Typed:
    """A new column that says whether a row has a match."""
    nodes = values.scope.nodes
    mark = Column(nodes.fresh("exists"), Type.BOOLEAN)
    there = nodes.extend(nodes.semijoin(values.rows.node, matches), [mark], [true()])
    absent = nodes.extend(nodes.antijoin(values.rows.node, matches), [mark], [literal(False, Type.BOOLEAN)])
    values.go_on(nodes.plus(there, absent))
    return Typed(column(mark.name), mark.value_type)


def _scalar(values: Values, query: exp.Expression) -> Typed:
    """The value of a subquery of one column and at most one row for each row around it; NULL where there is none."""
    scope, nodes = values.scope, values.scope.nodes
    inner = _query(query)
    if not has_one_row(inner):
        raise scope.refuse(
            query, "a scalar subquery that may have several rows", "aggregate it without GROUP BY, or add LIMIT 1"
        )
    rows = bind(values, inner)
    if len(rows.visible) != 1:
        raise scope.source.error(query, f"a scalar subquery has one column, and this one has {len(rows.visible)}")
    found = rows.visible[0].column
    bound = _bound_names(values, rows)
    result = nodes.keep(rows.node, [*bound, found.name])
    matched = nodes.join(values.rows.node, result)
    if not is_total(inner):
        missing = nodes.antijoin(values.rows.node, nodes.keep(result, bound))
        matched = nodes.plus(matched, nodes.pad(missing, [found]))
    values.go_on(matched)
    return Typed(column(found.name), nodes.column(matched, found.name).value_type)


def has_one_row(query: exp.Expression) -> bool:
    """Whether a query surely has at most one row for each of its bindings."""
    limit = query.args.get("limit")
    if limit is not None and isinstance(limit.expression, exp.Literal) and limit.expression.name in ("0", "1"):
        return True
    if not isinstance(query, exp.Select) or query.args.get("laterals"):
        return False
    return _is_global(query) or query.args.get("from_") is None


def is_total(query: exp.Expression) -> bool:
    """Whether a query surely has exactly one row for each of its bindings."""
    filters = ("having", "qualify", "limit", "offset")
    return isinstance(query, exp.Select) and _is_global(query) and not any(query.args.get(key) for key in filters)


def _is_global(query: exp.Select) -> bool:
    return not query.args.get("group") and any(True for e in query.expressions for _ in aggregates_of(e))


@dataclass(frozen=True)
class _Membership:
    """IN: `keys` are the columns of the rows, `found` the subquery's of the same names, its bindings beside them."""

    values: Values
    keys: Sequence[Column]
    bound: Sequence[str]
    found: int

    @property
    def _nodes(self) -> Nodes:
        return self.values.scope.nodes

    @property
    def _matches(self) -> int:
        """The keys that are there, without NULL."""
        return self._nodes.drop_null(self.found, [key.name for key in self.keys])

    def _with_null(self) -> int:
        """The bindings for which the subquery has NULL; that of one key alone."""
        (key,) = self.keys
        return self._nodes.keep(self._nodes.filter(self.found, is_null(column(key.name))), self.bound)

    def filter(self, negated: bool) -> None:
        """Keep the rows for which IN, or NOT IN, is true."""
        nodes, rows = self._nodes, self.values.rows.node
        if not negated:
            self.values.go_on(nodes.semijoin(rows, self._matches))
            return
        rows = nodes.antijoin(rows, self._matches)
        (key,) = self.keys
        if nodes.column(self.found, key.name).nullable:
            rows = nodes.antijoin(rows, self._with_null())
        if key.nullable:
            there = nodes.filter(rows, is_not_null(column(key.name)))
            unknown = nodes.filter(rows, is_null(column(key.name)))
            rows = nodes.plus(there, nodes.antijoin(unknown, nodes.keep(self.found, self.bound)))
        self.values.go_on(rows)

    def mark(self) -> Typed:
        """A new column of what IN is: true, false or NULL."""
        nodes, rows = self._nodes, self.values.rows.node
        (key,) = self.keys
        nullable = key.nullable or nodes.column(self.found, key.name).nullable
        mark = Column(nodes.fresh("contained"), Type.BOOLEAN, nullable)
        rest = nodes.antijoin(rows, self._matches)
        parts = [nodes.extend(nodes.semijoin(rows, self._matches), [mark], [true()])]
        if nodes.column(self.found, key.name).nullable:
            parts.append(self._marked(nodes.semijoin(rest, self._with_null()), mark, None))
            rest = nodes.antijoin(rest, self._with_null())
        if key.nullable:
            unknown = nodes.filter(rest, is_null(column(key.name)))
            whole = nodes.keep(self.found, self.bound)
            parts.append(self._marked(nodes.semijoin(unknown, whole), mark, None))
            rest = nodes.plus(nodes.filter(rest, is_not_null(column(key.name))), nodes.antijoin(unknown, whole))
        self.values.go_on(nodes.plus(*parts, self._marked(rest, mark, False)))
        return Typed(column(mark.name), ValueType(Type.BOOLEAN, nullable))

    def _marked(self, node: int, mark: Column, value: bool | None) -> int:
        expression = null(Type.BOOLEAN) if value is None else literal(value, Type.BOOLEAN)
        return self._nodes.extend(node, [mark], [expression])


def _membership(values: Values, node: exp.In) -> _Membership:
    scope, nodes = values.scope, values.scope.nodes
    wanted = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    given = [values.typed(prepared(part, values)) for part in wanted]
    rows = bind(values, _query(node.args["query"]))
    if len(rows.visible) != len(given):
        message = f"{len(given)} values are sought in a subquery of {len(rows.visible)} columns"
        raise scope.source.error(node, message)
    if len(given) > 1 and not _is_filter(node):
        raise scope.refuse(node, "NOT IN, or IN inside of an expression, with several columns", "write NOT EXISTS")
    bound = _bound_names(values, rows)
    keys: list[Column] = []
    columns: list[Column] = []
    found: list[exp.Expression] = []
    for value, attribute in zip(given, rows.visible, strict=True):
        target = common_type([value.type.type, attribute.column.type])
        if target is None:
            message = f"a {value.type.type} is sought among values of type {attribute.column.type}"
            raise scope.source.error(node, message, "cast one of them")
        theirs = coerced(attribute.typed, target)
        key = _own_column(values, coerced(value, target), {k.name for k in keys})
        keys.append(key)
        columns.append(Column(key.name, target, theirs.type.nullable))
        found.append(theirs.expression)
    kept = [nodes.column(rows.node, name) for name in bound if name not in {c.name for c in columns}]
    if len(kept) < len(bound):
        keys, columns = _apart(values, keys, columns, bound)
    number = nodes.compute(rows.node, [*kept_all(nodes, rows.node, bound), *columns], [*map(column, bound), *found])
    return _Membership(values, keys, bound, number)


def kept_all(nodes: Nodes, node: int, names: Sequence[str]) -> list[Column]:
    """These columns of a node."""
    return [nodes.column(node, name) for name in names]


def _own_column(values: Values, value: Typed, taken: set[str]) -> Column:
    """A column of the rows with this value, none of those that are taken."""
    found = values.column(value, "sought")
    return found if found.name not in taken else _copied(values, found)


def _copied(values: Values, found: Column) -> Column:
    """Another column of the same values."""
    nodes = values.scope.nodes
    copy = Column(nodes.fresh(found.name), found.type, found.nullable)
    values.go_on(nodes.extend(values.rows.node, [copy], [column(found.name)]))
    return copy


def _apart(
    values: Values, keys: Sequence[Column], columns: Sequence[Column], bound: Sequence[str]
) -> tuple[list[Column], list[Column]]:
    """The keys as columns that are no bindings."""
    new = [_copied(values, key) if key.name in bound else key for key in keys]
    return new, [Column(key.name, c.type, c.nullable) for key, c in zip(new, columns, strict=True)]


def _is_filter(node: exp.In) -> bool:
    """Whether IN stands alone in a conjunction, under no NOT."""
    parent = node.parent
    while isinstance(parent, exp.And | exp.Paren):
        parent = parent.parent
    return parent is None or isinstance(parent, exp.Where | exp.Having | exp.Qualify)
