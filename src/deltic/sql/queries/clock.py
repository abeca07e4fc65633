"""The time in queries: `current_timestamp` is the column of the clock, a table of one row.

Where WHERE compares a time of the rows with the clock, a row enters or leaves once: a window operator holds the rows on
one side of the clock, so an advance costs the rows that cross it. Any other use of the time is joined with the clock's
row, and recomputed for all rows when it changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import conjunction
from deltic.sql.queries.rows import Bindings, QueryColumn, QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.subqueries import prepared
from deltic.sql.queries.trees import FLIPPED, conjuncts, outermost, replaced, united
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars import Typed, coerced, common_type, typed
from deltic.sql.scalars.functions.lookup import OF_THE_CLOCK
from deltic.values.types import Column, Kind, Type

_NOW = "\0now"
_CLASSES = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.Localtimestamp)
_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
_RISING = (
    "date_add",
    "date_sub",
    "dateadd",
    "date_trunc",
    "trunc",
    "add_months",
    "last_day",
    "to_date",
    "to_timestamp",
)
"""Functions of a time and of constants that do not fall when the time rises."""


def reads_clock(node: exp.Expression) -> bool:
    """Return whether a query reads the time itself, outside of subqueries."""
    return any(True for part in _own(node) for _ in outermost(part, _is_time))


def _own(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the expressions of a query's clauses and join conditions, without subqueries."""
    if not isinstance(node, exp.Select):
        yield from node.iter_expressions()
        return
    for key, value in node.args.items():
        parts = value if isinstance(value, list) else [value]
        if key == "joins":
            parts = [join.args.get("on") for join in parts]
        if key not in ("from_", "with_", "laterals"):
            yield from (part for part in parts if isinstance(part, exp.Expression))


def _is_time(node: exp.Expression) -> bool:
    if isinstance(node, _CLASSES):
        return True
    return isinstance(node, exp.Anonymous) and node.name.lower() in OF_THE_CLOCK and not node.expressions


def _time(node: exp.Expression) -> exp.Expression:
    """Return the clock's column cast to the type of a time function; it keeps the function's text."""
    name = node.name.lower() if isinstance(node, exp.Anonymous) else node.sql_name().lower()  # type: ignore[attr-defined]
    column, type_ = exp.Column(this=exp.Identifier(this=_NOW)), OF_THE_CLOCK[name]
    result = exp.Paren(this=exp.Cast(this=column, to=exp.DataType.build(type_))) if type_ else column
    result.meta["spoken"] = f"{'current_date' if name == 'curdate' else name}()"
    return result


def with_time(select: exp.Select) -> exp.Select:
    """Replace time functions in a query by the clock's column."""
    copy = select.copy()
    for part in list(_own(copy)):
        for asked in list(outermost(part, _is_time)):
            asked.replace(_time(asked))
    return copy


def with_clock(scope: QueryScope) -> QueryScope:
    """Return a scope with the clock's row among the outer rows."""
    clock = _clock(scope)
    around = scope.bindings
    node = clock.node if around is None else scope.nodes.join(around.node, clock.node)
    return scope.bound(Bindings(node, clock, around))


def _clock(scope: QueryScope) -> QueryRows:
    result = scope.tables.clock
    rows = scope.own(result.rows.over(scope.nodes.bring(result.rows.node, result.home)))
    return QueryRows(rows.node, tuple(QueryColumn(_NOW, a.column) for a in rows.attributes))


def as_selects(values: exp.Values) -> exp.Expression:
    """Rewrite VALUES as SELECTs without FROM, which may read the time."""
    rows = [part.expressions if isinstance(part, exp.Tuple) else [part.unnest()] for part in values.expressions]
    named = [[exp.alias_(value.copy(), f"col{i}") for i, value in enumerate(row, 1)] for row in rows]
    return united([exp.select(*row) for row in named])


# Conditions by which rows cross the clock


@dataclass(frozen=True)
class Crossing:
    """A condition that compares a time of the rows with one that rises with the clock."""

    value: exp.Expression
    kind: type[exp.Expression]
    bound: exp.Expression


def with_crossings(select: exp.Select, scope: QueryScope) -> tuple[exp.Select, list[Crossing]]:
    """Split clock conditions off WHERE; in a recursion they stay."""
    where = select.args.get("where")
    if where is None or scope.nodes.outside is not None or not any(True for _ in outermost(where.this, _is_time)):
        return select, []
    others: list[exp.Expression] = []
    result: list[Crossing] = []
    for part in _parts(where.this):
        crossing = _crossing(part, scope)
        if crossing is None:
            others.append(part)
        else:
            result.append(crossing)
    copy = select.copy()
    copy.set("where", exp.Where(this=conjunction([part.copy() for part in others])) if others else None)
    return copy, result


def _parts(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the conjuncts of a condition, with BETWEEN as two of them."""
    for part in conjuncts(node):
        if isinstance(part, exp.Between) and not part.args.get("symmetric"):
            yield exp.GTE(this=part.this.copy(), expression=part.args["low"].copy())
            yield exp.LTE(this=part.this.copy(), expression=part.args["high"].copy())
        else:
            yield part


def _crossing(node: exp.Expression, scope: QueryScope) -> Crossing | None:
    """Recognize a clock condition; None for any other."""
    if type(node) not in FLIPPED:
        return None
    left, right, kind = node.this.unnest(), node.expression.unnest(), type(node)
    if _asks(right):
        left, right, kind = right, left, FLIPPED[kind]
    if _asks(right) or not _asks(left):
        return None
    if isinstance(left, exp.Sub) and not _is_constant(left.expression):  # now − t < d says that now − d < t
        if not _is_constant(right) or typed(right, _refuse, scope.source).type.type is not Type.DAY_TIME_INTERVAL:
            return None
        left, right = exp.Sub(this=left.this, expression=exp.Paren(this=right)), left.expression
    if not _rises(left) or right.find(exp.Query):
        return None
    return Crossing(right, FLIPPED[kind], left)


def _refuse(reference: exp.Column) -> Typed:
    raise AssertionError(f"{reference.sql()} is no constant")


def _asks(node: exp.Expression) -> bool:
    return any(True for _ in outermost(node, _is_time))


def _is_constant(node: exp.Expression) -> bool:
    return node.find(exp.Column, exp.Query) is None and not _asks(node)


def _rises(node: exp.Expression) -> bool:
    """Return whether an expression of the time and constants never decreases."""
    if isinstance(node, exp.Paren):
        return _rises(node.this)
    if _is_time(node):
        return True
    if isinstance(node, exp.Cast):
        return _rises(node.this) and node.to.this in (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)
    if isinstance(node, exp.Add | exp.Sub) and _is_constant(node.expression):
        return _rises(node.this)
    if isinstance(node, exp.Add):
        return _rises(node.expression) and _is_constant(node.this)
    if isinstance(node, exp.Anonymous) and node.name.lower() in _RISING:
        return (
            sum(map(_rises, node.expressions)) == 1
            and sum(map(_is_constant, node.expressions)) == len(node.expressions) - 1
        )
    return False


def cross(values: BlockValues, crossing: Crossing) -> None:
    """Filter the rows by a clock condition."""
    nodes = values.scope.nodes
    clock = BlockValues(_clock(values.scope), values.scope.bound(None))
    bound = clock.typed(replaced(crossing.bound, _is_time, _time))
    value = values.typed(prepared(values.dotted(crossing.value), values))
    target = common_type([value.type.type, bound.type.type])
    if target is None or target.kind not in _TIMES:
        source = values.scope.source
        message = f"{source.written(crossing.value)} is {value.type}, which no time is compared with"
        raise source.error(crossing.value, message)
    time = values.column(coerced(value, target), "time")
    values.go_on(nodes.drop_null(values.rows.node, [time.name]))
    now = nodes.compute(clock.rows.node, [Column(nodes.fresh("now"), target)], [coerced(bound, target).expression])
    is_after = crossing.kind in (exp.GT, exp.LTE)
    window = nodes.builder.add(ops.Window(time.name, -1 if is_after else 0), values.rows.node, now)
    is_late = crossing.kind in (exp.GT, exp.GTE)
    values.go_on(window if is_late else nodes.plus(values.rows.node, nodes.negate(window)))
