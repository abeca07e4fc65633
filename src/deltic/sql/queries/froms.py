"""FROM: relations, their joins, and VALUES.

In a correlated subquery every FROM starts with the bindings, so that each row also has their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import conjunction
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import ProgramError, count_of
from deltic.sql.names import NO_DATABASE
from deltic.sql.queries.clock import as_selects, reads_clock
from deltic.sql.queries.generators import generated, lateral_view
from deltic.sql.queries.matching import Asof, JoinSides, NoAsof
from deltic.sql.queries.pivots import pivoted
from deltic.sql.queries.rows import QueryColumn, QueryRows, variables_alone
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.subqueries import bind, is_subquery, prepared, value_of
from deltic.sql.queries.table_functions import applied_rows, own_operator, rows_called
from deltic.sql.queries.time_windows import table_function_of, windowed
from deltic.sql.queries.trees import conjuncts, outermost, replaced
from deltic.sql.queries.values import BlockValues
from deltic.sql.remedies import of_relation
from deltic.sql.scalars import Typed, coerced, common_type, named_as, settled, typed, unified
from deltic.sql.scalars.coercion import mixes_texts, open_type
from deltic.sql.scalars.comparing import compared
from deltic.sql.scalars.functions.written import function_called
from deltic.sql.scalars.typed import Mismatch, in_common
from deltic.sql.types import check_order, written
from deltic.values.types import Column, Schema, Type, ValueType

_KINDS = {"": "INNER", "OUTER": "OUTER", "INNER": "INNER", "CROSS": "CROSS", "SEMI": "SEMI", "ANTI": "ANTI"}


def lower_from(select: exp.Select, scope: QueryScope) -> QueryRows:
    """Return the rows of FROM, its joins and its lateral views."""
    source = select.args.get("from_")
    if source is None:
        return QueryRows(scope.start, ())
    rows = _first(source.this, scope)
    for join in select.args.get("joins") or ():
        rows = _joined(rows, join, scope)
    for lateral in select.args.get("laterals") or ():
        rows = lateral_view(lateral, rows, scope)
    return rows


def _first(node: exp.Expression, scope: QueryScope) -> QueryRows:
    """Return the rows of the first relation, with the bindings if there are any."""
    rows = _item(node, QueryRows(scope.start, ()), scope)
    return rows if scope.bindings is None else rows.over(scope.nodes.join(scope.start, rows.node))


def _item(node: exp.Expression, left: QueryRows, scope: QueryScope) -> QueryRows:
    """Lower one relation of FROM; lateral ones see the rows to their left."""
    if node.args.get("joins"):
        return _group(node, scope)
    if (sample := node.args.get("sample")) is not None:
        node = _sampled(node, sample, scope)
    alias = node.args.get("alias")
    names = [c.name for c in alias.args.get("columns") or ()] if alias else []
    if isinstance(node, exp.Subquery) and not alias and _is_group(node.this):
        return _group(node.this, scope)
    rows = _named(node, left, scope)
    if alias and names and len(names) != len(rows.visible):
        message = f"{alias.name} names {count_of(len(names), 'column')}, and there are {len(rows.visible)}"
        raise scope.source.error(alias, message)
    own = _own_name(node)
    if alias or not node.meta.get("piped"):
        rows = rows.called(alias.name if alias and alias.name else own, names)
        scope.nodes.words.call(rows.visible)
    return pivoted(rows, node.args.get("pivots") or (), scope)


def _own_name(node: exp.Expression) -> str:
    """Return the name of a relation without an alias: its table's, or that of the called SQL function."""
    if isinstance(node.this, exp.Anonymous) and function_called(node.this.name) is not None:
        return node.this.name
    return node.name if isinstance(node, exp.Table) else ""


def _sampled(node: exp.Expression, sample: exp.Expression, scope: QueryScope) -> exp.Expression:
    """Return a deterministic TABLESAMPLE: a number of rows, as with LIMIT, or 0 or 100 PERCENT."""
    alone = node.copy()
    alone.set("sample", None)
    percent, count = sample.args.get("percent"), sample.args.get("size")
    if percent is not None and percent.name in ("0", "100"):
        count = exp.Literal.number(0) if percent.name == "0" else None
    elif percent is not None or count is None:
        raise scope.refuse(node, "TABLESAMPLE", "a sample is not determined by the rows: write a condition on a column")
    if count is None:
        return alone
    name = node.alias_or_name and exp.TableAlias(this=exp.to_identifier(node.alias_or_name, quoted=True))
    return exp.Subquery(this=exp.select("*").from_(alone).limit(count.copy()), alias=name or None)


def _named(node: exp.Expression, left: QueryRows, scope: QueryScope) -> QueryRows:
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        if node.db:
            message = f"{scope.source.written(node)}: names have no database here"
            raise scope.source.error(node, message, of_relation(node) or NO_DATABASE)
        return scope.rows_of(node.name, node)
    if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
        return bind(BlockValues(left, scope), node.this.this)
    if isinstance(node, exp.Subquery) and _is_group(node.this):
        return _group(node.this, scope)
    if isinstance(node, exp.Subquery):
        return scope.own(scope.lower_derived(node if _has_modifiers(node) else node.this))
    values = node.this if isinstance(node, exp.Table) else node
    if isinstance(values, exp.Values):
        return scope.lower_alone(as_selects(values)) if reads_clock(values) else values_rows(values, scope)
    if (call := table_function_of(node)) is not None:
        return windowed(call, scope)
    if (called := rows_called(node, left, scope)) is not None:
        return called
    if (own := own_operator(node)) is not None:
        return applied_rows(node, own, scope)
    return generated(node, left, scope)


def _is_group(node: exp.Expression) -> bool:
    """Return whether parentheses contain a relation of FROM, possibly with joins."""
    return isinstance(node, exp.Table) or (isinstance(node, exp.Subquery | exp.Values) and bool(node.args.get("joins")))


def _group(first: exp.Expression, scope: QueryScope) -> QueryRows:
    """Return the rows of joined relations in parentheses, which keep their names."""
    alone = first.copy()
    joins = [join.copy() for join in alone.args.get("joins") or ()]
    alone.set("joins", None)
    return lower_from(exp.Select(from_=exp.From(this=alone), joins=joins), scope)


def _has_modifiers(node: exp.Subquery) -> bool:
    return any(node.args.get(key) for key in ("order", "limit", "offset", "with_"))


def _joined(rows: QueryRows, join: exp.Join, scope: QueryScope) -> QueryRows:
    side, kind = join.side.upper(), _KINDS.get(join.kind.upper())
    if kind is None or join.method.upper() not in ("", "NATURAL", "ASOF"):
        raise scope.refuse(join.this, f"{join.method} {join.kind} JOIN".strip())
    if isinstance(join.this, exp.Lateral) and side in ("RIGHT", "FULL"):
        remedy = "its rows depend on those of the left side: write LEFT JOIN LATERAL"
        raise scope.source.error(join.this, f"{side} JOIN LATERAL has no meaning", remedy)
    right = _item(join.this, rows, scope)
    how = kind if kind in ("SEMI", "ANTI") else side or kind
    if join.method.upper() == "ASOF":
        return _asof(rows, right, how, join, scope)
    if join.method.upper() == "NATURAL":
        there = {a.name.lower() for a in right.visible}
        shared = [a.name for a in rows.visible if a.name.lower() in there]
        return _using(rows, right, how, shared, join, scope)
    if join.args.get("using"):
        return _using(rows, right, how, [c.name for c in join.args["using"]], join, scope)
    return _join(rows, right, how, join.args.get("on"), scope)


def _join(left: QueryRows, right: QueryRows, how: str, on: exp.Expression | None, scope: QueryScope) -> QueryRows:
    placed: dict[str, Typed] = {}
    if on is not None:
        BlockValues(left, scope).refuse_null(on, "ON")
    if on is not None and any(True for _ in outermost(on, is_subquery)):
        if how == "INNER":
            return _filtered(left, right, on, scope)
        on, left, right = _asked(on, left, right, placed, scope)
    both = _both(left, right, scope, placed)
    predicate = None if on is None else both.predicate(both.dotted(on), "ON")
    if on is not None and predicate is not None:
        scope.nodes.words.mean_parts(conjuncts(predicate), conjuncts(on), scope.source)
    return _combined(left, right, how, predicate, scope)


def _filtered(left: QueryRows, right: QueryRows, on: exp.Expression, scope: QueryScope) -> QueryRows:
    """Filter pairs of rows by a condition with subqueries."""
    both = _both(left, right, scope)
    both.filter(both.predicate(prepared(both.dotted(on), both), "ON"))
    return both.rows


def _asked(
    on: exp.Expression, left: QueryRows, right: QueryRows, placed: dict[str, Typed], scope: QueryScope
) -> tuple[exp.Expression, QueryRows, QueryRows]:
    """Replace subqueries in a condition by placeholders, columns of the side that they depend on."""
    sides = [BlockValues(rows, scope, placed) for rows in (right, left)]

    def value(part: exp.Expression) -> exp.Expression:
        for side in sides:
            trial = side.over(side.rows)
            try:
                result = value_of(part, trial)
            except ProgramError:
                continue
            side.go_on(trial.rows.node)
            return result
        message = "this subquery, which needs the rows of both sides of the join,"
        raise scope.refuse(part, message, "write it in WHERE, or its condition in a subquery of FROM")

    return replaced(on, is_subquery, value), sides[1].rows, sides[0].rows


def _asof(left: QueryRows, right: QueryRows, how: str, join: exp.Join, scope: QueryScope) -> QueryRows:
    """Return an ASOF join; LEFT keeps left rows without a match."""
    remedy = "write ASOF [LEFT] JOIN … ON equalities AND left.time >= right.time"
    if how not in ("INNER", "LEFT") or join.args.get("on") is None:
        raise scope.refuse(join, f"ASOF {how} JOIN" if join.args.get("on") else "ASOF JOIN without ON", remedy)
    nodes = scope.nodes
    result = Asof(nodes, left.node, right.node, _both(left, right, scope).predicate(join.args["on"], "ON"))
    try:
        pairs = result.pairs()
    except NoAsof:
        message = "the condition of an ASOF join compares both sides: equalities, and one of >=, >, <= and <"
        raise scope.source.error(join.args["on"], message) from None
    parts = [pairs]
    if how == "LEFT":
        parts.append(nodes.pad(result.without_match(), nodes.schema(right.node).columns))
    return _summed(parts, left, right, scope)


def _combined(
    left: QueryRows, right: QueryRows, how: str, predicate: exp.Expression | None, scope: QueryScope
) -> QueryRows:
    """Return the join of both sides on a condition; `how` is INNER, CROSS, LEFT, RIGHT, FULL, SEMI or ANTI."""
    nodes = scope.nodes
    if how in ("RIGHT", "FULL"):
        right = right.over(nodes.join(scope.start, right.node) if scope.bindings else right.node)
    matching = JoinSides(nodes, left.node, right.node, predicate)
    if how == "SEMI":
        return left.over(matching.with_match())
    if how == "ANTI":
        return left.over(matching.without_match())
    parts = [matching.pairs()]
    if how in ("LEFT", "FULL"):
        parts.append(nodes.pad(matching.without_match(), nodes.schema(right.node).columns))
    if how in ("RIGHT", "FULL"):
        parts.append(nodes.pad(matching.flipped().without_match(), nodes.schema(left.node).columns))
    return _summed(parts, left, right, scope)


def _both(left: QueryRows, right: QueryRows, scope: QueryScope, placed: dict[str, Typed] | None = None) -> BlockValues:
    """Return the pairs of rows of both sides."""
    rows = QueryRows(scope.nodes.join(left.node, right.node), left.attributes + right.attributes)
    return BlockValues(rows, scope, placed)


def _summed(parts: Sequence[int], left: QueryRows, right: QueryRows, scope: QueryScope) -> QueryRows:
    """Return the sum of nodes with the columns of both sides."""
    names = scope.nodes.schema(parts[0]).names
    node = scope.nodes.plus(*(scope.nodes.keep(part, names) for part in parts))
    return scope.seen(QueryRows(node, left.attributes + right.attributes), node)


def _using(
    left: QueryRows, right: QueryRows, how: str, names: Sequence[str], join: exp.Join, scope: QueryScope
) -> QueryRows:
    """Return a join with USING: each pair of equal columns is visible once."""
    pairs = [(_only(left, name, join, scope), _only(right, name, join, scope)) for name in names]
    equal = [_equal(a, b, join, scope) for a, b in pairs]
    rows = _combined(left, right, how, conjunction(equal) if equal else None, scope)
    keys = [a.column.name for side in zip(*pairs, strict=True) for a in side]
    if how in ("SEMI", "ANTI"):
        return _first_of_all(keys, rows)
    merged = []
    values = BlockValues(rows, scope)
    for pair in pairs:
        a, b = scope.seen(QueryRows(rows.node, pair), rows.node).attributes
        value = _merged(a, b, how)
        merged.append(QueryColumn(a.name, values.column(value, a.name), modifier=value.modifier))
    others = [replace(a, hidden=a.hidden or a.column.name in keys) for a in rows.attributes]
    return QueryRows(
        values.rows.node, (*merged, *_first_of_all(keys, replace(rows, attributes=tuple(others))).attributes)
    )


def _first_of_all(keys: Sequence[str], rows: QueryRows) -> QueryRows:
    """Return the rows with the keys of USING before their other columns, as `*` and `t.*` have them."""
    places = {name: place for place, name in enumerate(keys)}
    ordered = sorted(rows.attributes, key=lambda a: places.get(a.column.name, len(places)))
    return replace(rows, attributes=tuple(ordered))


def _only(rows: QueryRows, name: str, join: exp.Join, scope: QueryScope) -> QueryColumn:
    result = [a for a in rows.visible if a.name.lower() == name.lower()]
    if len(result) != 1:
        what = f"there is no column {name}" if not result else f"{name} is ambiguous"
        raise scope.source.error(join, f"USING: {what} on one side of the join")
    return result[0]


def _equal(a: QueryColumn, b: QueryColumn, join: exp.Join, scope: QueryScope) -> exp.Expression:
    theirs = named_as(b.typed, a.column.type)
    target = common_type([a.column.type, theirs.type.type])
    if target is None:
        message = f"{a.name} is {a.column.type} on one side of the join and {b.column.type} on the other"
        raise scope.source.error(join, message, "cast one of them in a subquery")
    check_order(target, join, f"USING ({a.name})", scope.source)
    try:
        left, right = compared([coerced(a.typed, target), coerced(theirs, target)], target)
    except Mismatch as mismatch:
        raise scope.source.error(join, f"USING ({a.name}) compares texts of two collations", mismatch.hint) from None
    return exp.EQ(this=left.expression, expression=right.expression)


def _merged(a: QueryColumn, b: QueryColumn, how: str) -> Typed:
    """Return the visible one of two equal columns."""
    if how in ("INNER", "CROSS", "LEFT"):
        return a.typed
    target = common_type([a.column.type, b.column.type])
    assert target is not None
    if how == "RIGHT":
        return b.typed
    values = [coerced(value, target) for value in (a.typed, b.typed)]
    either = exp.Coalesce(this=values[0].expression, expressions=[values[1].expression])
    nullable = all(value.type.nullable for value in values)
    return Typed(either, replace(values[0].type, nullable=nullable), modifier=in_common(values))


# VALUES


def values_rows(node: exp.Values, scope: QueryScope) -> QueryRows:
    """Return the rows of VALUES; their columns are col1, col2, … as in Spark."""
    rows = [_typed_row(row, scope) for row in node.expressions]
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise scope.source.error(node, f"the rows of VALUES have {' and '.join(map(str, sorted(widths)))} columns")
    (width,) = widths
    result = [_unified([row[i] for row in rows], i, node, scope) for i in range(width)]
    constants = [[evaluate(value.expression, {}, {}) for value in values] for values in result]
    types = [ValueType(v[0].type.type, None in c) for v, c in zip(result, constants, strict=True)]
    called = [name.name for name in node.args["alias"].columns] if node.args.get("alias") else []
    names = called if len(called) == width else [f"col{i}" for i in range(1, width + 1)]
    columns = [Column(scope.nodes.fresh(n), t.type, t.nullable) for n, t in zip(names, types, strict=True)]
    scope.nodes.words.call(QueryColumn(name, column) for name, column in zip(names, columns, strict=True))
    number = scope.nodes.constant(Schema(tuple(columns)), list(zip(*constants, strict=True)))
    shown = []
    for i, column in enumerate(columns):
        written = [row[i] for row in rows]
        is_void, modifier = all(value.is_null for value in written), in_common(written)
        shown.append(QueryColumn(f"col{i + 1}", column, is_void=is_void, modifier=modifier))
    return QueryRows(number, tuple(shown))


def _typed_row(row: exp.Expression, scope: QueryScope) -> list[Typed]:
    message = "VALUES has constants, and this is the name of a column"
    resolve = variables_alone(scope.source, message, "write SELECT")
    parts = row.expressions if isinstance(row, exp.Tuple) else [row.this if isinstance(row, exp.Paren) else row]
    return [typed(part, resolve, scope.source) for part in parts]


def _unified(values: list[Typed], index: int, node: exp.Expression, scope: QueryScope) -> list[Typed]:
    types = {value.type.type for value in values if not value.is_null}
    is_float = Type.FLOAT32 in types and all(type_ is Type.FLOAT32 or type_.is_integer for type_ in types)
    result = None if mixes_texts(map(open_type, values)) else unified(values)
    if is_float:  # Spark has FLOAT for integers beside one in VALUES, and DOUBLE everywhere else.
        result = [coerced(value, Type.FLOAT32) for value in values]
    if result is None:
        kinds = " and ".join(dict.fromkeys(written(value.type.type) for value in values if not value.is_null))
        message = f"column {index + 1} of VALUES has {kinds}, which have no common type"
        raise scope.source.error(node, message, "write values of one type, or CAST(… AS …)")
    return [settled(value) for value in result]
