"""Functions that make rows: explode and its kind, in FROM, as lateral views and in SELECT, and range.

An array is exploded by the numbers of its places, so that one generator of circuits does for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of
from deltic.circuit.types import Column, Kind, Type
from deltic.sql.queries.rows import Attribute, Rows
from deltic.sql.queries.scope import Scope
from deltic.sql.queries.subqueries import prepared
from deltic.sql.queries.values import Values
from deltic.sql.scalars import Typed, coerced

_NAMES = ("explode", "posexplode", "unnest")
_ZERO = exp.Literal.number(0)


@dataclass(frozen=True)
class _Generator:
    """What makes a row of each place of an array or a map, with the place or not; of none, one where it is outer."""

    argument: exp.Expression
    has_position: bool
    is_outer: bool


def is_generator(node: exp.Expression) -> bool:
    """Whether a node is a function that makes rows."""
    return isinstance(node, exp.Func | exp.Unnest) and _name(node).removesuffix("_outer") in _NAMES


def _name(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else type(node).__name__.lower()


def lateral_view(node: exp.Lateral, rows: Rows, scope: Scope) -> Rows:
    """The rows with those that a generator makes of each."""
    if not is_generator(node.this):
        raise scope.refuse(node.this, f"LATERAL VIEW of {scope.source.written(node.this)}")
    values = Values(rows, scope)
    alias = node.args.get("alias")
    names = [c.name for c in alias.args.get("columns") or ()] if alias else []
    made = exploded(node.this, values, bool(node.args.get("outer")), names)
    relation = alias.name if alias else ""
    own = tuple(Attribute(a.name, a.column, relation) for a in made)
    return Rows(values.rows.node, (*rows.attributes, *own))


def exploded(
    node: exp.Expression, values: Values, is_outer: bool = False, names: Sequence[str] = ()
) -> list[Attribute]:
    """The columns that a generator adds to the rows, of which it makes several. Raises ProgramError."""
    scope, nodes = values.scope, values.scope.nodes
    generator = _read(node, scope, is_outer)
    array = values.column(values.typed(prepared(generator.argument, values)), "array")
    if array.type.kind not in (Kind.ARRAY, Kind.MAP):
        message = f"{scope.source.written(node)} takes an array or a map, and this is {array.type}"
        raise scope.source.error(node, message)
    given = values.place(node, Typed(column(array.name), array.value_type))
    count = coerced(values.typed(_count(given, generator.is_outer)), Type.INT64)
    index = nodes.fresh("index")
    bounds = (coerced(values.typed(_ZERO), Type.INT64).expression, count.expression)
    values.go_on(nodes.builder.add(ops.FlatMap(index, "range", bounds), values.rows.node))
    place = values.place(node, coerced(Typed(column(index), Type.INT64.or_null), Type.INT32))
    shown: list[tuple[str, exp.Expression]] = [("pos", place)] if generator.has_position else []
    parts = [("key", "map_keys"), ("value", "map_values")] if array.type.kind is Kind.MAP else [("col", "")]
    shown += [(name, _call("get", _call(part, given) if part else given, place)) for name, part in parts]
    if names and len(names) != len(shown):
        raise scope.source.error(node, f"{scope.source.written(node)} makes {len(shown)} columns, not {len(names)}")
    called = names or [name for name, _ in shown]
    found = [values.computed(values.typed(value), name) for name, (_, value) in zip(called, shown, strict=True)]
    return [Attribute(name, c) for name, c in zip(called, found, strict=True)]


def _read(node: exp.Expression, scope: Scope, is_outer: bool) -> _Generator:
    arguments = node.expressions if isinstance(node, exp.Anonymous | exp.Unnest) else [node.this]
    if len(arguments) != 1 or node.args.get("offset"):
        raise scope.refuse(node, f"{_name(node)} of several arguments, or with ordinality", "write posexplode")
    name = _name(node)
    return _Generator(arguments[0], name.startswith("pos"), is_outer or name.endswith("_outer"))


def _count(given: exp.Expression, is_outer: bool) -> exp.Expression:
    """How many rows are made of an array; one of none, and of NULL, where that is asked for."""
    count = _call("size", given)
    if not is_outer:
        return count
    some = exp.GT(this=count.copy(), expression=_ZERO.copy())
    return exp.Case(ifs=[exp.If(this=some, true=count)], default=exp.Literal.number(1))


def _call(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def generated(node: exp.Expression, left: Rows, scope: Scope) -> Rows:
    """The rows of a table function; a lateral one has the columns of the rows to the left that it reads."""
    call = node.this if isinstance(node, exp.Table | exp.Lateral) else node
    if isinstance(call, exp.Anonymous) and call.name.lower() == "range":
        return _numbers(call, scope)
    if not is_generator(call):
        raise scope.refuse(node, f"{_name(call)}(…) in FROM")
    reader = Values(left, scope)
    argument = reader.typed(_read(call, scope, False).argument)
    used = list(columns_of(argument.expression))
    given = scope.nodes.distinct(scope.nodes.keep(left.node, used)) if used else scope.nodes.unit()
    values = Values(left.over(given), scope)
    made = exploded(call, values)
    kept = [*used, *(a.column.name for a in made)]
    return Rows(scope.nodes.keep(values.rows.node, kept), tuple(made))


def _numbers(call: exp.Anonymous, scope: Scope) -> Rows:
    """The rows of range(end), range(start, end) and range(start, end, step), whose column is id."""
    values = Values(Rows(scope.nodes.unit(), ()), scope)
    found = [coerced(values.typed(part), Type.INT64) for part in call.expressions]
    if not 1 <= len(found) <= 3 or any(columns_of(value.expression) for value in found):
        raise scope.source.error(call, "range takes one to three constants: range(end), range(start, end, step)")
    first = [coerced(values.typed(_ZERO), Type.INT64)] if len(found) == 1 else []
    name = scope.nodes.fresh("id")
    bounds = tuple(value.expression for value in (*first, *found))
    node = scope.nodes.builder.add(ops.FlatMap(name, "range", bounds), values.rows.node)
    return Rows(node, (Attribute("id", Column(name, Type.INT64)),))
