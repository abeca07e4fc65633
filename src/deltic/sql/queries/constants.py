"""VALUES: constant rows."""

from __future__ import annotations

from sqlglot import exp

from deltic.circuit.expressions.meaning import evaluate
from deltic.sql.queries.rows import QueryColumn, QueryRows, settled, value_of
from deltic.sql.queries.scope import QueryScope
from deltic.sql.scalars import Typed, coerced, typed, unified
from deltic.sql.scalars.coercion import mixes_texts, open_type
from deltic.sql.scalars.typed import in_common
from deltic.sql.types import written
from deltic.values.types import Column, Schema, Type, ValueType


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
    def variable(reference: exp.Column) -> Typed:
        if (value := value_of(reference, scope.source)) is not None:
            return value
        raise scope.source.error(reference, "VALUES has constants, and this is the name of a column", "write SELECT")

    parts = row.expressions if isinstance(row, exp.Tuple) else [row.this if isinstance(row, exp.Paren) else row]
    return [typed(part, variable, scope.source) for part in parts]


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
