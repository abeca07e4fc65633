"""a + 0 = a: terms that a condition makes empty are dropped from sums.

So an outer join becomes an inner one if a condition is never true of rows without a match, σ_{d > 3}(NULL AS d).
"""

from __future__ import annotations

from sqlglot import exp

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.expressions import (
    ARITHMETIC,
    BITWISE,
    COMPARISONS,
    SAFE,
    Checked,
    columns_of,
    conjuncts,
    is_checked,
    operands_of,
)
from deltic.circuit.expressions.casts import is_null_of_a_type
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.graph import Circuit, Node
from deltic.functions import function_of, is_call

_STRICT = (*COMPARISONS, *ARITHMETIC, *BITWISE, *SAFE, exp.Not, exp.Neg, exp.Paren, exp.Cast, Checked)
_OF_FIRST = (ops.Map, ops.Filter, ops.Distinct, ops.Negate, ops.Antijoin, ops.FlatMap)


@rewrites(ops.Filter)
def drop_empty(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit without empty terms in sums."""
    if not isinstance(node.operator, ops.Plus):
        return None
    kept = [number for number in node.inputs if not is_empty(rewriting.circuit, number)]
    if not kept or len(kept) == len(node.inputs):
        return None
    result = rewriting.new(*kept)
    return result[0] if len(result) == 1 else rewriting.add(node.operator, *result)


def is_empty(circuit: Circuit, number: int) -> bool:
    """Return whether the node has no rows, because a condition below it is never true."""
    node = circuit.nodes[number]
    if isinstance(node.operator, ops.Filter) and any(map(is_never, conjuncts(node.operator.predicate))):
        return True
    if isinstance(node.operator, _OF_FIRST):
        return is_empty(circuit, node.inputs[0])
    return isinstance(node.operator, ops.Join) and any(is_empty(circuit, number) for number in node.inputs)


def is_never(predicate: exp.Expression) -> bool:
    """Return whether a condition is true of no row, for example because it compares with NULL."""
    if isinstance(predicate, exp.Or):
        return all(map(is_never, operands_of(predicate)))
    if isinstance(predicate, exp.And | exp.Paren):
        return any(map(is_never, operands_of(predicate)))
    if _is_null(predicate):
        return True
    return not columns_of(predicate) and not is_checked(predicate) and evaluate(predicate, {}, {}) is not True


def _is_null(expression: exp.Expression) -> bool:
    """Return whether the value is certainly NULL, as the result of an operation on NULL."""
    if is_null_of_a_type(expression):
        return True
    is_strict = function_of(expression).strict if is_call(expression) else isinstance(expression, _STRICT)
    return is_strict and any(map(_is_null, operands_of(expression)))
