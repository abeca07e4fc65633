"""Subqueries in expressions, lowered by decorrelation.

A correlated subquery is lowered once for all outer rows, under its *bindings*: the set of the outer values that it
uses. Each row of its result has the values for which it is a result, and a join on them combines both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.expressions import checked, column, conjunction, is_not_null, is_null, literal, nodes_of, null
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import EvaluationError, count_of
from deltic.functions import call
from deltic.sql.queries.functions import value_called
from deltic.sql.queries.matching import JoinSides
from deltic.sql.queries.nodes import Nodes, true
from deltic.sql.queries.quantifiers import QuantifiedComparison, as_membership, is_quantified, negations_inward
from deltic.sql.queries.rows import Bindings, QueryRows
from deltic.sql.queries.trees import aggregates_of, replaced
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars import Typed, coerced, named_as, type_in_common
from deltic.sql.scalars.comparing import compared
from deltic.sql.scalars.functions.written import function_called
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.types import check_order
from deltic.values.types import Column, Type


def bind(values: BlockValues, query: exp.Expression) -> QueryRows:
    """Return the rows of a subquery for the rows around it; they have the columns that it uses of these too.

    Which columns it uses is known once it is lowered, on trial, under all of them. A trial is good enough for a
    trial around it: with each level the work grows by that of one more trial, and does not double.
    """
    scope, outer = values.scope, values.rows
    bindings = Bindings(scope.nodes.distinct(outer.node), outer, scope.bindings)
    rows = scope.lower(query, scope.on_trial(bindings))
    if scope.is_trial:
        return rows
    if not bindings.used:
        return scope.lower_alone(query)
    node = scope.nodes.distinct(scope.nodes.keep(outer.node, list(bindings.used)))
    return scope.lower(query, scope.bound(Bindings(node, outer, scope.bindings)))


def used_by(query: exp.Expression, values: BlockValues) -> frozenset[str]:
    """Return the columns of the rows around it that a subquery uses, as the circuit calls them; none on trial."""
    scope = values.scope
    if scope.is_trial:
        return frozenset()
    bindings = Bindings(scope.nodes.distinct(values.rows.node), values.rows, scope.bindings)
    scope.lower(_query(query), scope.on_trial(bindings))
    return frozenset(bindings.used)


def is_subquery(node: exp.Expression) -> bool:
    """Return whether a node is a subquery expression."""
    return (
        as_membership(node) is not None
        or is_quantified(node)
        or isinstance(node, exp.Query | exp.Exists)
        or _is_call(node)
    )


def _is_call(node: exp.Expression) -> bool:
    """Return whether a node calls an SQL function whose body has subqueries."""
    if not isinstance(node, exp.Anonymous):
        return False
    function = function_called(node.name)
    return function is not None and function.needs_rows


def prepared(node: exp.Expression, values: BlockValues) -> exp.Expression:
    """Return a copy of an expression with placeholders for its subqueries, whose values the rows have then."""
    return replaced(negations_inward(node), is_subquery, lambda part: value_of(part, values))


def value_of(node: exp.Expression, values: BlockValues) -> exp.Expression:
    """Return the placeholder of a subquery's value: its row's only column, or whether it holds."""
    if isinstance(node, exp.Exists):
        return values.place(node, _marked(values, _exists(values, node.this)))
    if (membership := as_membership(node)) is not None:
        return values.place(node, _membership(values, membership.node).mark(membership.negated))
    if is_quantified(node):
        return _quantified(values, node)
    if isinstance(node, exp.Anonymous):
        return values.place(node, value_called(node, values, prepared))
    return values.place(node, _scalar(values, node))


def keep_where(node: exp.Expression, values: BlockValues) -> bool:
    """Keep the rows for which EXISTS or IN, maybe under NOT, is true; whether the condition is of that kind."""
    inner, negated = node, False
    while isinstance(inner, exp.Not | exp.Paren):
        negated ^= isinstance(inner, exp.Not)
        inner = inner.this
    if isinstance(inner, exp.Exists):
        matches = _exists(values, inner.this)
        nodes = values.scope.nodes
        values.go_on((nodes.antijoin if negated else nodes.semijoin)(values.rows.node, matches))
    elif (membership := as_membership(inner)) is not None:
        _membership(values, membership.node).filter(negated ^ membership.negated)
    else:
        return False
    return True


def _bound_names(values: BlockValues, rows: QueryRows) -> list[str]:
    """Return the columns of a subquery's rows that are bindings."""
    around = values.scope.nodes.schema(values.rows.node).names
    return [name for name in values.scope.nodes.schema(rows.node).names if name in around]


def _exists(values: BlockValues, query: exp.Expression) -> int:
    """Return the bindings for which a query has rows."""
    rows = bind(values, _query(query))
    return values.scope.nodes.keep(rows.node, _bound_names(values, rows))


def _query(node: exp.Expression) -> exp.Expression:
    result = node.this if isinstance(node, exp.Subquery) and not node.args.get("limit") else node
    assert isinstance(result, exp.Expression)
    return result


def _marked(values: BlockValues, matches: int) -> Typed:
    """Add a column that says whether a row has a match."""
    nodes = values.scope.nodes
    mark = Column(nodes.fresh("exists"), Type.BOOLEAN)
    there = nodes.extend(nodes.semijoin(values.rows.node, matches), [mark], [true()])
    absent = nodes.extend(nodes.antijoin(values.rows.node, matches), [mark], [literal(False, Type.BOOLEAN)])
    values.go_on(nodes.plus(there, absent))
    return Typed(column(mark.name), mark.value_type)


def _scalar(values: BlockValues, query: exp.Expression) -> Typed:
    """Return the value of a subquery of one column and at most one row for each row around it; NULL where there is
    none.
    """
    scope, nodes = values.scope, values.scope.nodes
    inner = _query(query)
    rows = bind(values, inner)
    if len(rows.visible) != 1:
        raise scope.source.error(query, f"a scalar subquery has one column, and this one has {len(rows.visible)}")
    found, modifier = rows.visible[0].column, rows.visible[0].typed.modifier
    bound = _bound_names(values, rows)
    result = nodes.keep(rows.node, [*bound, found.name])
    if not has_one_row(inner):
        found, result = _only_row(values, query, found, bound, result)
    return replace(_beside(values, result, bound, [found], is_total(inner))[0], modifier=modifier)


def _beside(
    values: BlockValues, result: int, bound: Sequence[str], columns: Sequence[Column], is_total: bool = False
) -> list[Typed]:
    """Add columns of a subquery with at most one row for each binding; NULL where it has none."""
    nodes = values.scope.nodes
    matched = nodes.join(values.rows.node, result)
    if not is_total:
        missing = nodes.antijoin(values.rows.node, nodes.keep(result, bound))
        matched = nodes.plus(matched, nodes.pad(missing, columns))
    values.go_on(matched)
    return [Typed(column(c.name), nodes.column(matched, c.name).value_type) for c in columns]


def _only_row(
    values: BlockValues, query: exp.Expression, found: Column, bound: Sequence[str], result: int
) -> tuple[Column, int]:
    """Return the value of each binding's only row; an epoch that gives a binding several rows is rejected."""
    nodes = values.scope.nodes
    _check_extremes(values, query, found, "a scalar subquery that may have several rows")
    value, rows, only = (nodes.fresh(name) for name in (found.name, "rows", found.name))
    nodes.words.write([value], query, values.scope.source)
    calls = (ops.AggregateCall("min", found.name, value), ops.AggregateCall("count", "", rows))
    counted = nodes.builder.add(ops.Aggregate(tuple(bound), calls), result)
    is_one = checked(call("scalar_subquery", literal(_query(query).sql(dialect="spark"), Type.STRING), column(rows)))
    chosen = exp.Case(ifs=[exp.If(this=is_one, true=column(value))])
    kept = [nodes.column(counted, name) for name in bound]
    made = Column(only, found.type, True)
    return made, nodes.compute(counted, [*kept, made], [*(column(name) for name in bound), chosen])


def _check_extremes(values: BlockValues, node: exp.Expression, found: Column, what: str) -> None:
    """Raise ProgramError for a column whose type has no order, which the least value needs."""
    if not ACCUMULATORS["min"].takes([found.type]):
        remedy = "aggregate it without GROUP BY, or add LIMIT 1"
        raise values.scope.refuse(node, f"{what}, of type {found.type},", remedy)


def _quantified(values: BlockValues, node: exp.Expression) -> exp.Expression:
    """Return the value of a comparison with ANY or ALL, from the extremes and the number of the subquery's rows."""
    nodes = values.scope.nodes
    left = values.place(node.this, values.typed(prepared(node.this, values)))
    rows = bind(values, _query(node.expression.this))
    if len(rows.visible) != 1:
        message = f"one value is compared with a subquery of {count_of(len(rows.visible), 'column')}"
        raise values.scope.source.error(node, message)
    found = rows.visible[0].column
    _check_extremes(values, node, found, "a comparison with a subquery")
    bound = _bound_names(values, rows)
    names = [nodes.fresh(name) for name in ("least", "greatest", "known", "rows")]
    functions = (("min", found.name), ("max", found.name), ("count", found.name), ("count", ""))
    calls = tuple(ops.AggregateCall(f, of, name) for (f, of), name in zip(functions, names, strict=True))
    result = nodes.builder.add(ops.Aggregate(tuple(bound), calls), nodes.keep(rows.node, [*bound, found.name]))
    parts = _beside(values, result, bound, [nodes.column(result, name) for name in names])
    return QuantifiedComparison.of(node, left, [values.place(node, p, is_whole=False) for p in parts]).written_out()


def has_one_row(query: exp.Expression) -> bool:
    """Return whether a query surely has at most one row for each of its bindings."""
    limit = query.args.get("limit")
    if limit is not None and isinstance(limit.expression, exp.Literal) and limit.expression.name in ("0", "1"):
        return True
    if not isinstance(query, exp.Select) or query.args.get("laterals"):
        return False
    return _is_global(query) or query.args.get("from_") is None


def is_total(query: exp.Expression) -> bool:
    """Return whether a query surely has exactly one row for each of its bindings."""
    filters = ("having", "qualify", "limit", "offset")
    return isinstance(query, exp.Select) and _is_global(query) and not any(query.args.get(key) for key in filters)


def _is_global(query: exp.Select) -> bool:
    return not query.args.get("group") and any(True for e in query.expressions for _ in aggregates_of(e))


@dataclass(frozen=True)
class _Membership:
    """IN: `keys` are the columns of the rows, `found` the subquery's of the same names, its bindings beside them.

    It is open where none of the rows found equals a row's keys, and one may, for all that NULL says. As in Spark
    neither IN nor NOT IN is true then: both are false, and NULL where NULL itself is sought, as `open` says.
    """

    values: BlockValues
    keys: Sequence[Column]
    bound: Sequence[str]
    found: int
    open: bool | None

    @property
    def _nodes(self) -> Nodes:
        return self.values.scope.nodes

    @property
    def _matches(self) -> int:
        """The present keys, without NULL."""
        return self._nodes.drop_null(self.found, [key.name for key in self.keys])

    def _divided(self, rows: int) -> tuple[list[int], int]:
        """Divide rows without a match: the parts for which IN is open, and those for which it is false."""
        nodes = self._nodes
        if len(self.keys) == 1:
            return self._divided_by_one(rows)
        result = {key.name: nodes.column(self.found, key.name) for key in self.keys}
        if not any(key.nullable or result[key.name].nullable for key in self.keys):
            return [], rows
        names = {name: nodes.fresh(name) for name in result}
        possible = [
            _may_equal(column(key.name), column(names[key.name]), key.nullable, result[key.name].nullable)
            for key in self.keys
        ]
        matching = JoinSides(nodes, rows, nodes.rename(self.found, names), conjunction(possible))
        return [matching.with_match()], matching.without_match()

    def _divided_by_one(self, rows: int) -> tuple[list[int], int]:
        """Return the same for one key: open if the subquery has a NULL, or if the key is NULL and the subquery has
        rows.
        """
        nodes, parts = self._nodes, []
        (key,) = self.keys
        if nodes.column(self.found, key.name).nullable:
            with_null = nodes.keep(nodes.filter(self.found, is_null(column(key.name))), self.bound)
            parts.append(nodes.semijoin(rows, with_null))
            rows = nodes.antijoin(rows, with_null)
        if key.nullable:
            unknown = nodes.filter(rows, is_null(column(key.name)))
            whole = nodes.keep(self.found, self.bound)
            parts.append(nodes.semijoin(unknown, whole))
            rows = nodes.plus(nodes.filter(rows, is_not_null(column(key.name))), nodes.antijoin(unknown, whole))
        return parts, rows

    def filter(self, negated: bool) -> None:
        """Keep the rows for which IN, or NOT IN, is true."""
        nodes, rows = self._nodes, self.values.rows.node
        if not negated:
            self.values.go_on(nodes.semijoin(rows, self._matches))
            return
        _, rest = self._divided(nodes.antijoin(rows, self._matches))
        self.values.go_on(rest)

    def mark(self, negated: bool) -> Typed:
        """Return a new column with the value of IN or NOT IN."""
        nodes, rows = self._nodes, self.values.rows.node
        missing = nodes.antijoin(rows, self._matches)
        is_divided = self.open is None or negated
        unknown, rest = self._divided(missing) if is_divided else ([], missing)
        mark = Column(nodes.fresh("contained"), Type.BOOLEAN, self.open is None)
        parts = [self._marked(nodes.semijoin(rows, self._matches), mark, not negated)]
        parts += [self._marked(part, mark, self.open) for part in unknown]
        self.values.go_on(nodes.plus(*parts, self._marked(rest, mark, negated)))
        return Typed(column(mark.name), mark.value_type)

    def _marked(self, node: int, mark: Column, value: bool | None) -> int:
        expression = null(Type.BOOLEAN) if value is None else literal(value, Type.BOOLEAN)
        return self._nodes.extend(node, [mark], [expression])


def _membership(values: BlockValues, node: exp.In) -> _Membership:
    scope, nodes = values.scope, values.scope.nodes
    wanted = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    given = [values.typed(prepared(part, values)) for part in wanted]
    rows = bind(values, _query(node.args["query"]))
    if len(rows.visible) != len(given):
        has = count_of(len(rows.visible), "column")
        message = f"{count_of(len(given), 'value')} cannot be sought in a subquery of {has}"
        raise scope.source.error(node, message)
    bound = _bound_names(values, rows)
    keys: list[Column] = []
    columns: list[Column] = []
    result: list[exp.Expression] = []
    for value, attribute in zip(given, rows.visible, strict=True):
        theirs = named_as(attribute.typed, value.type.type)
        target = type_in_common([value, theirs])
        if target is None:
            message = f"a {value.type.type} is sought among values of type {attribute.column.type}"
            raise scope.source.error(node, message, "cast one of them")
        check_order(target, node, "IN", scope.source)
        try:
            value, theirs = compared([coerced(value, target), coerced(theirs, target)], target)
        except Mismatch as mismatch:
            raise scope.source.error(node, "IN compares texts in no such collation", mismatch.hint) from None
        key = _own_column(values, value, {k.name for k in keys})
        keys.append(key)
        columns.append(Column(key.name, target, theirs.type.nullable))
        result.append(theirs.expression)
    if any(c.name in bound for c in columns):
        keys, columns = _apart(values, keys, columns, bound)
    kept = [nodes.column(rows.node, name) for name in bound]
    number = nodes.compute(rows.node, [*kept, *columns], [*map(column, bound), *result])
    return _Membership(values, keys, bound, number, None if not bound and all(map(_is_always_null, given)) else False)


def _is_always_null(value: Typed) -> bool:
    """Return whether an expression without columns is NULL."""
    if any(isinstance(node, exp.Column) for node in nodes_of(value.expression)):
        return False
    try:
        return value.is_null or evaluate(value.expression, {}, {}) is None
    except EvaluationError:
        return False


def _own_column(values: BlockValues, value: Typed, taken: set[str]) -> Column:
    """Return a column of the rows with this value, other than the taken ones."""
    result = values.column(value, "sought")
    return result if result.name not in taken else _copied(values, result)


def _copied(values: BlockValues, found: Column) -> Column:
    """Another column of the same values."""
    nodes = values.scope.nodes
    copy = Column(nodes.fresh(found.name), found.type, found.nullable)
    values.go_on(nodes.extend(values.rows.node, [copy], [column(found.name)]))
    return copy


def _apart(
    values: BlockValues, keys: Sequence[Column], columns: Sequence[Column], bound: Sequence[str]
) -> tuple[list[Column], list[Column]]:
    """Return the keys as columns apart from the bindings."""
    new = [_copied(values, key) if key.name in bound else key for key in keys]
    return new, [Column(key.name, c.type, c.nullable) for key, c in zip(new, columns, strict=True)]


def _may_equal(sought: exp.Expression, found: exp.Expression, left: bool, right: bool) -> exp.Expression:
    """Return whether two values are equal, or could be because one is NULL; `left` and `right` say which are
    nullable.
    """
    parts: list[exp.Expression] = [exp.EQ(this=sought, expression=found)]
    parts += [is_null(value) for value, nullable in ((sought, left), (found, right)) if nullable]
    first, *others = parts
    for other in others:
        first = exp.Or(this=first, expression=other)
    return first
