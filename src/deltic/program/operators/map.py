"""A map replaces the results of each conjunction."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import infer, is_not_null
from deltic.circuit.graph import Node
from deltic.program.conjunctions import result_names
from deltic.program.queries import Body, as_expression, replace_columns
from deltic.program.scope import Scope, bodies_of


@bodies_of(ops.Map)
def map_(scope: Scope, op: ops.Map, node: Node) -> list[Body]:
    """The conjunctions of the input, with the map's results."""
    (number,) = node.inputs
    columns = scope.circuit.type_of(number).schema.value_types
    pairs = zip(op.columns, op.expressions, strict=True)
    partial = [e for c, e in pairs if not c.nullable and infer(e, columns).nullable]
    return [_mapped(op, partial, body) for body in scope.below(number)]


def _mapped(operator: ops.Map, partial: list[exp.Expression], body: Body) -> Body:
    """The body with the map's results.

    Rows with an undefined `partial` expression are dropped even if it is never read.
    """
    pairs = zip(operator.columns, operator.expressions, strict=True)
    out = {c.name: replace_columns(e, body.out) for c, e in pairs}
    defined = (is_not_null(as_expression(replace_columns(e, body.out)).copy()) for e in partial)
    mapped = replace(body, out=out, conditions=(*body.conditions, *defined))
    return replace(mapped, names={**result_names(mapped), **body.names})
