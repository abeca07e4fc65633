"""Sources, and linear operators: those work on each conjunction of their inputs, and a kept node becomes a relation.

A flatmap becomes a relation; the rows that it expands are passed to it.

A kept node has its own relation if it has one anyway, else the sum of its conjunctions. Relations of a recursion are
sets: a sum that is kept in one becomes a set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import conjuncts, infer, is_not_null
from deltic.circuit.graph import Node
from deltic.program.conjunctions import restrict, result_names
from deltic.program.definitions import OfSource, Table
from deltic.program.queries import Body, as_expression, replace_columns
from deltic.program.scope import RELATIONS, Scope, bodies_of, relation_of
from deltic.program.unsupported import in_recursion


@bodies_of(ops.Map)
def map_(scope: Scope, op: ops.Map, node: Node) -> list[Body]:
    """The conjunctions of the input, with the map's results."""
    (number,) = node.inputs
    columns = scope.circuit.type_of(number).schema.value_types
    pairs = zip(op.columns, op.expressions, strict=True)
    partial = [e for c, e in pairs if not c.nullable and infer(e, columns).nullable]
    return [_mapped(op, partial, body) for body in scope.below(number)]


def _mapped(operator: ops.Map, partial: list[exp.Expression], body: Body) -> Body:
    """Return the body with the map's results.

    Rows with an undefined `partial` expression are dropped even if it is never read.
    """
    pairs = zip(operator.columns, operator.expressions, strict=True)
    out = {c.name: replace_columns(e, body.out) for c, e in pairs}
    defined = (is_not_null(as_expression(replace_columns(e, body.out)).copy()) for e in partial)
    mapped = replace(body, out=out, conditions=(*body.conditions, *defined))
    return replace(mapped, names={**result_names(mapped), **body.names})


@bodies_of(ops.Filter)
def filter_(scope: Scope, op: ops.Filter, node: Node) -> list[Body]:
    """The conjunctions of the input, restricted by each conjunct of the predicate."""
    bodies = scope.below(*node.inputs)
    for part in conjuncts(op.predicate):
        bodies = [restricted for body in bodies for restricted in restrict(body, replace_columns(part, body.out))]
    return [replace(body, conditions=tuple(dict.fromkeys(body.conditions))) for body in bodies]


@bodies_of(ops.Plus)
def plus(scope: Scope, op: ops.Plus, node: Node) -> list[Body]:
    """The conjunctions of all inputs, in order."""
    return [body for number in node.inputs for body in scope.bodies(number)]


@bodies_of(ops.Negate)
def negate(scope: Scope, op: ops.Negate, node: Node) -> list[Body]:
    """The conjunctions of the input with negated signs."""
    return [replace(body, sign=-body.sign) for body in scope.bodies(*node.inputs)]


@relation_of(ops.Source)
def source(scope: Scope, op: ops.Source, node: Node, number: int, wanted: str) -> str:
    """The table, under its own name."""
    return scope.defined(op.name, number, Table(op.name))


@relation_of(ops.Keep)
def keep(scope: Scope, op: ops.Keep, node: Node, number: int, wanted: str) -> str:
    """The relation of the input, named after a view, itself or this operator."""
    (source,) = node.inputs
    if scope.component is not None:
        scope.wanted.setdefault(source, wanted or op.name)
    is_sum = type(scope.circuit.nodes[source].operator) not in RELATIONS
    if is_sum and scope.component is not None and scope.is_recursive(number):
        return scope.derived(source, wanted or op.name, distinct=True)
    return scope.relation(source)


class Expanded(OfSource):
    """The rows of relation `source`, each once for every value that the flatmap yields for it."""

    operator: ops.FlatMap

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        return super().shared(columns - 1)

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        yield f"{self.operator.arguments()} of each row of {self.source}; looks at changed rows alone"

    def __str__(self) -> str:
        return f"{self.operator.label} of {self.source}"


@relation_of(ops.FlatMap)
def flat_map(scope: Scope, op: ops.FlatMap, node: Node, number: int, wanted: str) -> str:
    """The relation of the rows that the flatmap makes of the change."""
    if scope.component is not None and scope.is_recursive(number):
        raise in_recursion(number, op)
    (change,) = node.inputs
    return scope.defined(wanted, number, Expanded(scope.passed("rows", change), op))
