"""Generators: explode, inline, stack and others in FROM, as lateral views and in SELECT, and range.

They generate the positions of rows, so that one generator operator suffices for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of, is_literal_zero
from deltic.errors import count_of
from deltic.sql import types
from deltic.sql.collations import implied
from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.subqueries import prepared
from deltic.sql.queries.values import BlockValues
from deltic.sql.remedies import FROM_FILES, of_function
from deltic.sql.scalars import Typed, coerced
from deltic.values.types import Column, Kind, Type

_NAMES = ("explode", "posexplode", "unnest", "inline", "stack", "json_tuple")
_PARAMETER = {"explode": "collection", "posexplode": "collection", "inline": "input"}
"""What the arguments of these are called."""
_ZERO = exp.Literal.number(0)
# A column that is made: its name and its value.
_Shown = tuple[str, exp.Expression]


@dataclass(frozen=True)
class _Generator:
    """A generator by its name without `_outer`; an outer one yields a row of NULLs where it would yield none."""

    node: exp.Expression
    name: str
    arguments: Sequence[exp.Expression]
    is_outer: bool


def is_generator(node: exp.Expression) -> bool:
    """Return whether a node is a generator."""
    return isinstance(node, exp.Func | exp.Unnest) and _name(node).removesuffix("_outer") in _NAMES


def _name(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else type(node).__name__.lower()


def lateral_view(node: exp.Lateral, rows: QueryRows, scope: QueryScope) -> QueryRows:
    """Multiply the rows by a lateral view."""
    if not is_generator(node.this):
        raise scope.refuse(node.this, f"LATERAL VIEW of {scope.source.written(node.this)}")
    values = BlockValues(rows, scope)
    alias = node.args.get("alias")
    names = [c.name for c in alias.args.get("columns") or ()] if alias else []
    made = exploded(node.this, values, bool(node.args.get("outer")), names)
    relation = alias.name if alias else ""
    own = tuple(replace(a, relation=relation) for a in made)
    scope.nodes.words.call(own)
    return QueryRows(values.rows.node, (*rows.attributes, *own))


def exploded(
    node: exp.Expression, values: BlockValues, is_outer: bool = False, names: Sequence[str] = ()
) -> list[QueryColumn]:
    """Multiply the rows by a generator, and return its columns. Raises ProgramError."""
    scope = values.scope
    generator = _read(node, scope, is_outer)
    makers = {"stack": _stacked, "json_tuple": _fields, "unnest": _unnested}
    shown = makers.get(generator.name, _exploded)(generator, values)
    if names and len(names) != len(shown):
        message = f"{scope.source.written(node)} makes {count_of(len(shown), 'column')}, not {len(names)}"
        raise scope.source.error(node, message)
    called = names or [name for name, _ in shown]
    result = [values.typed(value) for _, value in shown]
    pairs = list(zip(called, result, strict=True))
    return [QueryColumn(name, values.computed(value, name), modifier=value.modifier) for name, value in pairs]


def _exploded(generator: _Generator, values: BlockValues) -> list[_Shown]:
    """Return a row for each place of an array or a map, maybe with its number; `inline` shows the fields of structs."""
    node, source = generator.node, values.scope.source
    whole = values.typed(prepared(generator.arguments[0], values))
    array = values.column(whole, "array")
    if array.type.kind not in (Kind.ARRAY, Kind.MAP):
        message = f"{source.written(node)} takes an array or a map, and its argument is {types.written(array.type)}"
        raise source.error(node, message)
    given = values.place(
        node, Typed(column(array.name), array.value_type, modifier=implied(whole.modifier)), is_whole=False
    )
    parts: list[_Shown] = [("col", given)]
    if array.type.kind is Kind.MAP:
        both = {"key": "map_keys", "value": "map_values"}.items()
        made = [(name, values.typed(_call(function, given))) for name, function in both]
        kept = ((n, replace(v, expression=column(values.column(v, n).name))) for n, v in made)
        parts = [(name, values.place(node, value, is_whole=False)) for name, value in kept]
    place = _numbered(generator, values, _count(given, generator.is_outer))
    if generator.name == "inline":
        if array.type.kind is not Kind.ARRAY or array.type.element.type.kind is not Kind.STRUCT:
            raise source.error(node, f"{source.written(node)} takes an array of structs, and this is {array.type}")
        row = values.place(node, values.typed(_call("get", given, place)), is_whole=False)
        fields = array.type.element.type.fields
        return [(f.name, exp.Dot(this=row.copy(), expression=exp.to_identifier(f.name, quoted=True))) for f in fields]
    shown = [("pos", _there(place, given) if generator.is_outer else place)] if generator.name == "posexplode" else []
    return [*shown, *((name, _call("get", part, place)) for name, part in parts)]


def _unnested(generator: _Generator, values: BlockValues) -> list[_Shown]:
    """UNNEST: a row for each place of the longest array, maybe with its number from 1."""
    node, arrays = generator.node, []
    for argument in generator.arguments:
        whole = values.typed(prepared(argument, values))
        if whole.type.type.kind is not Kind.ARRAY:
            message = (
                f"UNNEST takes arrays, and {values.scope.source.written(argument)} is {types.written(whole.type.type)}"
            )
            raise values.scope.source.error(argument, message)
        arrays.append(values.place(argument, replace(whole, expression=column(values.column(whole, "array").name))))
    sizes = [_call("size", array) for array in arrays]
    place = _numbered(generator, values, _call("greatest", *sizes) if sizes[1:] else sizes[0])
    names = [f"col{i}" for i in range(len(arrays))] if arrays[1:] else ["col"]
    shown = [(name, _call("get", array, place)) for name, array in zip(names, arrays, strict=True)]
    if not node.args.get("offset"):
        return shown
    number = exp.Add(this=place.copy(), expression=exp.Literal.number(1))
    return [*shown, ("ordinality", exp.Cast(this=number, to=exp.DataType.build("BIGINT")))]


def _stacked(generator: _Generator, values: BlockValues) -> list[_Shown]:
    """stack(n, …): distribute the other arguments over n rows, padded with NULL."""
    count, *given = generator.arguments
    if not isinstance(count, exp.Literal) or not count.is_int or count.name == "0" or not given:
        message = "stack takes a number of rows above zero, written as such, and the values in them"
        raise values.scope.source.error(generator.node, message)
    result = [prepared(value, values) for value in given]
    rows = int(count.name)
    place = _numbered(generator, values, count)
    width = -(-len(result) // rows)
    return [(f"col{i}", _chosen(place, result[i::width])) for i in range(width)]


def _fields(generator: _Generator, values: BlockValues) -> list[_Shown]:
    """json_tuple: one row with the named fields of a JSON object."""
    text, *names = generator.arguments or [exp.Null()]
    if not names or not all(isinstance(name, exp.Literal) and name.is_string for name in names):
        message = "json_tuple takes a text and the names of fields, written as such"
        raise values.scope.source.error(generator.node, message)
    given = values.place(text, values.typed(prepared(text, values)))
    paths = [exp.Literal.string(f"$['{name.name}']") for name in names]
    return [(f"c{i}", _call("get_json_object", given, path)) for i, path in enumerate(paths)]


def _chosen(place: exp.Expression, candidates: Sequence[exp.Expression]) -> exp.Expression:
    """Return the candidate at a position."""
    places = (exp.EQ(this=place.copy(), expression=exp.Literal.number(i)) for i in range(len(candidates)))
    return exp.Case(ifs=[exp.If(this=p, true=c) for p, c in zip(places, candidates, strict=True)])


def _numbered(generator: _Generator, values: BlockValues, count: exp.Expression) -> exp.Expression:
    """Add a row number from 0, with this many rows for each input row."""
    index = values.scope.nodes.fresh("index")
    bounds = tuple(coerced(values.typed(bound), Type.INT64).expression for bound in (_ZERO, count))
    values.go_on(values.scope.nodes.builder.add(ops.FlatMap(index, "range", bounds), values.rows.node))
    place = coerced(Typed(column(index), Type.INT64.or_null), Type.INT32)
    return values.place(generator.node, place, is_whole=False)


def _read(node: exp.Expression, scope: QueryScope, is_outer: bool) -> _Generator:
    name = _name(node)
    plain = name.removesuffix("_outer")
    arguments = [_unnamed(argument, plain, scope) for argument in _arguments(node)]
    if len(arguments) != 1 and plain not in ("stack", "json_tuple", "unnest"):
        raise scope.refuse(node, f"{name} of several arguments")
    return _Generator(node, plain, arguments, is_outer or name != plain)


def _unnamed(argument: exp.Expression, name: str, scope: QueryScope) -> exp.Expression:
    """Return an argument without its name, as in `collection => xs`."""
    if not isinstance(argument, exp.Kwarg):
        return argument
    if argument.name.lower() != _PARAMETER.get(name):
        hint = f"its argument is {_PARAMETER[name]}" if name in _PARAMETER else "leave the name out"
        raise scope.source.error(argument, f"{name} takes no argument {argument.name}", hint)
    result: exp.Expression = argument.expression
    return result


def _arguments(node: exp.Expression) -> Iterator[exp.Expression]:
    if not isinstance(node, exp.Anonymous | exp.Unnest):
        yield node.this
    yield from node.expressions


def _count(given: exp.Expression, is_outer: bool) -> exp.Expression:
    """Return the number of rows for an array; 1 for an empty array or NULL if outer."""
    count = _call("size", given)
    if not is_outer:
        return count
    some = exp.GT(this=count.copy(), expression=_ZERO.copy())
    return exp.Case(ifs=[exp.If(this=some, true=count)], default=exp.Literal.number(1))


def _there(place: exp.Expression, given: exp.Expression) -> exp.Expression:
    """Return the position, NULL where the array has no such element."""
    return exp.Case(ifs=[exp.If(this=exp.LT(this=place.copy(), expression=_call("size", given)), true=place.copy())])


def _call(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def generated(node: exp.Expression, left: QueryRows, scope: QueryScope) -> QueryRows:
    """Lower a table function; a lateral one keeps the columns that it reads of the rows to its left."""
    call = node.this if isinstance(node, exp.Table | exp.Lateral) else node
    if isinstance(call, exp.Anonymous) and call.name.lower() == "range":
        return _numbers(call, scope)
    if not is_generator(call):
        remedy = FROM_FILES if _name(call).startswith("read_") else of_function(_name(call))
        raise scope.refuse(node, f"{_name(call)}(…) in FROM", remedy)
    reader = BlockValues(left, scope)
    arguments = [reader.typed(argument) for argument in _read(call, scope, False).arguments]
    used = list(dict.fromkeys(name for value in arguments for name in columns_of(value.expression)))
    given = scope.nodes.distinct(scope.nodes.keep(left.node, used)) if used else scope.nodes.unit()
    values = BlockValues(left.over(given), scope)
    made = exploded(call, values)
    kept = [*used, *(a.column.name for a in made)]
    return QueryRows(scope.nodes.keep(values.rows.node, kept), tuple(made))


def _numbers(call: exp.Anonymous, scope: QueryScope) -> QueryRows:
    """Return the rows of range(end), range(start, end[, step[, parts for Spark]]), whose column is id."""
    values = BlockValues(QueryRows(scope.nodes.unit(), ()), scope)
    result = [values.typed(part) for part in call.expressions[:3]]
    if null := next((part for part, value in zip(call.expressions, result, strict=False) if value.is_null), None):
        raise scope.source.error(null, "range takes numbers, and NULL has no type", "write CAST(NULL AS BIGINT)")
    result = [coerced(value, Type.INT64) for value in result]
    if not 1 <= len(call.expressions) <= 4 or any(columns_of(value.expression) for value in result):
        raise scope.source.error(call, "range takes one to three constants: range(end), range(start, end, step)")
    if result[2:] and is_literal_zero(result[2].expression):
        raise scope.source.error(call, "the step of range is not 0")
    first = [coerced(values.typed(_ZERO), Type.INT64)] if len(result) == 1 else []
    name = scope.nodes.fresh("id")
    bounds = tuple(value.expression for value in (*first, *result))
    node = scope.nodes.builder.add(ops.FlatMap(name, "range", bounds), values.rows.node)
    return QueryRows(node, (QueryColumn("id", Column(name, Type.INT64)),))
