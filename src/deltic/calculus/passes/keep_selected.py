"""π(σ_p(t)) ⋈ b = keep(π(σ_p(t))) ⋈ b: rows of a table that pass a function are a relation before they are joined.

A search decides comparisons row by row, but leaves functions such as LIKE to the end, for many rows at once. Within the
query of the join they are computed whenever a row is reached, and only after all its matches were.
"""

from __future__ import annotations

from sqlglot import exp

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.expressions import ARITHMETIC, COMPARISONS, is_checked, is_literal, operands_of
from deltic.circuit.expressions.trees import BITWISE, LOGIC
from deltic.circuit.graph import Node

_PLAIN = (*LOGIC, *COMPARISONS, *ARITHMETIC, *BITWISE, exp.In, exp.Is, exp.Neg, exp.Null, exp.Paren)


@rewrites(ops.Filter)
def keep_selected(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with a relation of the table's rows that pass a condition with functions, where a join reads them."""
    inner = rewriting.node(node.inputs[0]) if isinstance(node.operator, ops.Map) else node
    if rewriting.circuit.depth > 0 or not isinstance(inner.operator, ops.Filter):
        return None
    predicate, readers = inner.operator.predicate, rewriting.circuit.readers[rewriting.number]
    if is_checked(predicate) or _is_plain(predicate):
        return None
    is_of_table = isinstance(rewriting.node(inner.inputs[0]).operator, ops.Source)
    is_joined = any(isinstance(rewriting.node(reader).operator, ops.Join | ops.Semijoin) for reader in readers)
    if not is_of_table or not is_joined:
        return None
    return rewriting.add(ops.Keep(""), rewriting.add(node.operator, *rewriting.new(*node.inputs)))


def _is_plain(expression: exp.Expression) -> bool:
    """Return whether an expression calls no function."""
    if is_literal(expression) or isinstance(expression, exp.Column):
        return True
    return isinstance(expression, _PLAIN) and all(map(_is_plain, operands_of(expression)))
