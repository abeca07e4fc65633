"""Operations that handle NULLs themselves: three-valued logic, CASE, COALESCE.

An operand that may raise an error is computed only for the rows that need it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from sqlglot import exp

from deltic.engine.operators import numbers
from deltic.engine.operators.columns import ColumnOperation, Columns
from deltic.engine.operators.numbers import Array, Result, any_null, overwritten, where_defined
from deltic.engine.operators.strict import compared

Evaluate = Callable[[exp.Expression, Columns], Result]
"""Computes an operand on the rows of columns."""


def _is_null(node: ColumnOperation, columns: Columns, evaluate: Evaluate) -> Result:
    nulls = evaluate(node.operands[0], columns)[1] if node.operands else np.ones(columns.count, bool)
    return (np.zeros(columns.count, bool) if nulls is None else nulls), None


def _logic(node: ColumnOperation, columns: Columns, evaluate: Evaluate) -> Result:
    """Three-valued AND and OR: False decides AND, and True decides OR, whatever the other side is."""
    decisive, (first, second) = node.kind is exp.Or, node.operands
    a, a_null = evaluate(first, columns)
    if columns.node(second).is_checked:
        is_open = a != decisive if a_null is None else (a != decisive) | a_null
        b, b_null = _replaced(
            is_open, second, columns, (np.full(columns.count, decisive), np.zeros(len(a), bool)), evaluate
        )
    else:
        b, b_null = evaluate(second, columns)
    if a_null is None and b_null is None:
        return (a | b if decisive else a & b), None
    a_null = np.zeros(len(a), bool) if a_null is None else a_null
    b_null = np.zeros(len(b), bool) if b_null is None else b_null
    decided = ((a == decisive) & ~a_null) | ((b == decisive) & ~b_null)
    return (decided if decisive else ~decided), (a_null | b_null) & ~decided


def _same(node: ColumnOperation, columns: Columns, evaluate: Evaluate) -> Result:
    """Null-safe equality, or its negation."""
    (a, a_null), (b, b_null) = (evaluate(operand, columns) for operand in node.operands)
    nulls = [np.zeros(columns.count, bool) if n is None else n for n in (a_null, b_null)]
    compare = partial(compared, exp.EQ, node.types, interner=columns.interner)
    equal, _ = where_defined(any_null(*nulls), [a, b], lambda a, b: (compare([a, b]), None))
    same = np.where(nulls[0] | nulls[1], nulls[0] & nulls[1], equal)
    return (same if node.kind is exp.NullSafeEQ else ~same), None


def _coalesce(node: ColumnOperation, columns: Columns, evaluate: Evaluate) -> Result:
    first, *others = node.operands
    result = evaluate(first, columns)
    for other in others:
        if result[1] is None or not result[1].any():
            return result
        result = _replaced(result[1], other, columns, result, evaluate)
    return result


def _case(node: ColumnOperation, columns: Columns, evaluate: Evaluate) -> Result:
    """Return the value of the first branch whose condition is true, neither false nor NULL."""
    branches = 2 * len(node.expression.args["ifs"])
    result: Result = np.zeros(columns.count, numbers.dtype_of(node.result)), np.ones(columns.count, bool)
    left = np.ones(columns.count, bool)
    for condition, value in zip(node.operands[:branches:2], node.operands[1:branches:2], strict=True):
        chosen = _holding(condition, columns, left, evaluate)
        result = _replaced(chosen, value, columns, result, evaluate)
        left &= ~chosen
    return _replaced(left, node.operands[-1], columns, result, evaluate) if len(node.operands) > branches else result


def _holding(condition: exp.Expression, columns: Columns, left: Array, evaluate: Evaluate) -> Array:
    """Return where a condition is true among the remaining rows: bool[n]."""
    if columns.node(condition).is_checked:
        holds, unknown = _replaced(left, condition, columns, (np.zeros_like(left), np.zeros_like(left)), evaluate)
    else:
        holds, unknown = evaluate(condition, columns)
    return left & holds if unknown is None else left & holds & ~unknown


def _replaced(mask: Array, expression: exp.Expression, columns: Columns, found: Result, evaluate: Evaluate) -> Result:
    """Return a result, with the values of an expression where the mask is true."""
    values, nulls = found
    assert nulls is not None
    if columns.node(expression).is_checked:
        return overwritten(mask, evaluate(expression, columns.where(mask)), values.copy(), nulls.copy())
    others, absent = evaluate(expression, columns)
    return np.where(mask, others, values), np.where(mask, False if absent is None else absent, nulls)


WITH_NULLS: dict[type[exp.Expression], Callable[[ColumnOperation, Columns, Evaluate], Result]] = {
    exp.Is: _is_null,
    exp.And: _logic,
    exp.Or: _logic,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _same,
    exp.Coalesce: _coalesce,
    exp.Case: _case,
}
