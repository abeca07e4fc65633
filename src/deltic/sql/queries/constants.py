"""VALUES: rows that stand in the query."""

from __future__ import annotations

from sqlglot import exp

from deltic.circuit.expressions import columns_of
from deltic.circuit.oracle.evaluate import evaluate
from deltic.circuit.types import Column, Schema, Type, ValueType
from deltic.sql.queries.rows import Attribute, Rows
from deltic.sql.queries.scope import Scope
from deltic.sql.scalars import Typed, coerced, common_type, typed


def values_rows(node: exp.Values, scope: Scope) -> Rows:
    """The rows of VALUES; their columns are col1, col2, … as in Spark."""
    rows = [_typed_row(row, scope) for row in node.expressions]
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise scope.source.error(node, f"the rows of VALUES have {' and '.join(map(str, sorted(widths)))} columns")
    (width,) = widths
    types = [_common([row[i] for row in rows], i, node, scope) for i in range(width)]
    columns = [Column(scope.nodes.fresh(f"col{i + 1}"), type_.type, type_.nullable) for i, type_ in enumerate(types)]
    found = [tuple(_value(v, t.type) for v, t in zip(row, types, strict=True)) for row in rows]
    number = scope.nodes.constant(Schema(tuple(columns)), found)
    return Rows(number, tuple(Attribute(f"col{i + 1}", c) for i, c in enumerate(columns)))


def _typed_row(row: exp.Expression, scope: Scope) -> list[Typed]:
    def refuse(reference: exp.Column) -> Typed:
        raise scope.source.error(reference, "VALUES has constants, and this is the name of a column", "write SELECT")

    parts = row.expressions if isinstance(row, exp.Tuple) else [row.this if isinstance(row, exp.Paren) else row]
    return [typed(part, refuse, scope.source) for part in parts]


def _common(values: list[Typed], index: int, node: exp.Expression, scope: Scope) -> ValueType:
    target = common_type([value.type.type for value in values])
    if target is None:
        told = " and ".join(dict.fromkeys(str(value.type.type) for value in values))
        raise scope.source.error(node, f"column {index + 1} of VALUES has {told}, which have no common type")
    return ValueType(target, any(_value(value, target) is None for value in values))


def _value(value: Typed, target: Type) -> object:
    expression = coerced(value, target).expression
    assert not columns_of(expression)
    return evaluate(expression, {}, {})
