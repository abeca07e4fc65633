"""PIVOT and UNPIVOT, rewritten as queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import columns_of
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import count_of
from deltic.sql.aggregates import is_aggregate
from deltic.sql.queries.naming import name_of
from deltic.sql.queries.rows import QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.trees import replaced, united
from deltic.sql.queries.values import BlockValues
from deltic.sql.queries.words import written
from deltic.sql.scalars.coercion import mixes_texts, open_type
from deltic.sql.types import written as name_of_type

_GIVEN = "\0given"


def pivoted(rows: QueryRows, pivots: Sequence[exp.Pivot], scope: QueryScope) -> QueryRows:
    """Return the rows after each pivot in turn; columns that it keeps stay those of their relations, unless it has a
    name.
    """
    for pivot in pivots:
        values = BlockValues(rows.called(""), scope)
        query = (_unpivot if pivot.args.get("unpivot") else _pivot)(_bare(pivot, rows), values)
        inner = scope.bound(None).naming(_GIVEN, values.rows)
        result = inner.own(inner.lower(query, inner))
        rows = result.called(pivot.alias) if pivot.alias else _as_before(result, rows)
    return rows


def _bare(pivot: exp.Pivot, rows: QueryRows) -> exp.Pivot:
    """Return the pivot with columns without their relations."""
    relations = {a.relation.lower() for a in rows.visible}
    result = pivot.copy()
    for column in result.find_all(exp.Column):
        if column.table.lower() in relations:
            column.set("table", None)
    return result


def _as_before(result: QueryRows, rows: QueryRows) -> QueryRows:
    """Return the result with the relations of the former columns."""
    relations = {a.name.lower(): a.relation for a in rows.visible}
    return replace(
        result, attributes=tuple(replace(a, relation=relations.get(a.name.lower(), "")) for a in result.attributes)
    )


def _given() -> exp.From:
    return exp.From(this=exp.Table(this=exp.Identifier(this=_GIVEN, quoted=True)))


def _pivot(pivot: exp.Pivot, given: BlockValues) -> exp.Expression:
    """Return a group for each of the columns that the pivot does not mention, a column for each of its values."""
    scope, names = given.scope, [a.name for a in given.rows.visible]
    mentioned = {c.name.lower() for c in pivot.find_all(exp.Column)}
    kept = [exp.column(name, quoted=True) for name in names if name.lower() not in mentioned]
    field, *others = pivot.args["fields"]
    if others:
        raise scope.refuse(others[0].this, "PIVOT of two lists", "write one list: FOR (a, b) IN ((1, 'x'), (2, 'y'))")
    if pivot.args.get("group"):
        raise scope.refuse(pivot.args["group"], "GROUP BY in PIVOT", "its groups are the columns that it does not name")
    if not isinstance(field, exp.In) or not field.expressions:
        raise scope.refuse(pivot, "PIVOT without a list of values", "list them: FOR column IN ('a', 'b')")
    shown: list[exp.Expression] = [column.copy() for column in kept]
    for value in field.expressions:
        shown += [_pivoted(call, field.this, value, len(pivot.expressions) > 1, given) for call in pivot.expressions]
    return exp.Select(expressions=shown, from_=_given(), group=exp.Group(expressions=kept) if kept else None)


def _pivoted(
    call: exp.Expression, column: exp.Expression, value: exp.Expression, several: bool, given: BlockValues
) -> exp.Expression:
    """One aggregate of the rows with one value, under the name that Spark gives it."""
    named = isinstance(value, exp.Alias | exp.PivotAlias)
    plain = value.this if named else value
    name = value.args["alias"].name if named else _shown(plain, given)
    inner = call.this if isinstance(call, exp.Alias) else call
    if several:
        name += f"_{call.alias or name_of(inner, given)}"
    columns = column.expressions if isinstance(column, exp.Tuple) else [column]
    values = plain.expressions if isinstance(plain, exp.Tuple) else [plain]
    pairs = zip(columns, values, strict=False)
    tests = [exp.NullSafeEQ(this=c.copy(), expression=_as_column(v, c, given)) for c, v in pairs]
    where = exp.Where(this=exp.and_(*tests))
    source = given.scope.source
    listed = f"{source.written(column)} IN ({source.written(plain)})"

    def filtered(part: exp.Expression) -> exp.Expression:
        result = exp.Filter(this=part.copy(), expression=where.copy())
        result.meta["words"] = f"{written(part, source)} FOR {listed}"
        return result

    chosen = replaced(inner, is_aggregate, filtered)
    if isinstance(inner, exp.Count) or not is_aggregate(inner):  # NULL where the group has no row of this value
        rows = exp.Filter(this=exp.Count(this=exp.Star()), expression=where.copy())
        chosen = exp.If(this=exp.GT(this=rows, expression=exp.Literal.number(0)), true=chosen)
    return exp.Alias(this=chosen, alias=exp.to_identifier(name, quoted=True))


def _as_column(value: exp.Expression, column: exp.Expression, given: BlockValues) -> exp.Expression:
    """Return a value of the list in the type of the column that it is compared with."""
    own, type_ = given.typed(value).type.type, given.typed(column).type.type
    if own is type_ or not type_.is_ordered:
        return value.copy()
    return exp.Cast(this=value.copy(), to=exp.DataType.build(name_of_type(type_), dialect="spark"))


def _shown(value: exp.Expression, given: BlockValues) -> str:
    """Return a value of the list as a text, the name of its column."""
    text = given.typed(exp.Cast(this=value.copy(), to=exp.DataType.build("string")))
    if columns_of(text.expression):
        raise given.scope.source.error(value, f"{given.scope.source.written(value)} in PIVOT is no constant")
    result = evaluate(text.expression, {}, {})
    return "null" if result is None else str(result)


def _unpivot(pivot: exp.Pivot, given: BlockValues) -> exp.Expression:
    """Return a row for each of the listed columns, or lists of them: its name and its values, unless they are all
    NULL.
    """
    scope, names = given.scope, [a.name for a in given.rows.visible]
    field, *others = pivot.args["fields"]
    if others or len(pivot.expressions) != 1 or not isinstance(field, exp.In):
        raise scope.refuse(pivot, "this UNPIVOT", "write UNPIVOT (value FOR name IN (column, …))")
    values, name = [column.name for column in _parts(pivot.expressions[0])], field.this.name
    listed = [_listed(part) for part in field.expressions]
    for columns, _ in listed:
        if len(columns) != len(values):
            message = f"{count_of(len(values), 'name')} of values, and {count_of(len(columns), 'column')} for them"
            raise scope.source.error(columns[0], message)
    for made in zip(*(columns for columns, _ in listed), strict=True):
        if mixes_texts(open_type(given.typed(column)) for column in made):
            raise scope.source.error(made[0], "UNPIVOT of texts and other values", "cast them to one type")
    taken = {column.name.lower() for columns, _ in listed for column in columns}
    kept = [exp.column(n, quoted=True) for n in names if n.lower() not in taken]
    parts: list[exp.Expression] = []
    for columns, label in listed:
        result = [_alias(column.copy(), value) for column, value in zip(columns, values, strict=True)]
        shown = [*(c.copy() for c in kept), _alias(exp.Literal.string(label), name), *result]
        there = [exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())) for column in columns]
        where = None if pivot.args.get("include_nulls") else exp.Where(this=exp.or_(*there))
        parts.append(exp.Select(expressions=shown, from_=_given(), where=where))
    return united(parts)


def _listed(part: exp.Expression) -> tuple[list[exp.Expression], str]:
    """Return the columns of which UNPIVOT makes a row, and what it calls them."""
    alias = part.args.get("alias")
    columns = _parts(part.this if alias else part)
    return columns, alias.name if alias else "_".join(column.name for column in columns)


def _parts(node: exp.Expression) -> list[exp.Expression]:
    """Return the node inside parentheses, or the node itself."""
    if isinstance(node, exp.Paren):
        return _parts(node.this)
    result: list[exp.Expression] = node.expressions if isinstance(node, exp.Tuple) else [node]
    return result


def _alias(value: exp.Expression, name: str) -> exp.Expression:
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))
