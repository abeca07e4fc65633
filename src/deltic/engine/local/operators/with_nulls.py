"""Operations that look at NULLs themselves, on results of their operands: Kleene's logic, CASE, COALESCE."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deltic.circuit.expressions import operands_of, type_of
from deltic.engine.local.operators.numbers import Result
from deltic.engine.local.operators.results import any_null, or_else, where_defined
from deltic.engine.local.operators.strict import compared

if TYPE_CHECKING:
    from deltic.engine.local.operators.scalar import Columns


def _is_null(expression: exp.Expression, results: list[Result], columns: Columns) -> Result:
    nulls = results[0][1] if results else np.ones(columns.count, bool)
    return (np.zeros(columns.count, bool) if nulls is None else nulls), None


def logic(expression: exp.Expression, results: list[Result], columns: Columns) -> Result:
    """Kleene's AND and OR: False and True decide them whatever the other side is."""
    decisive = isinstance(expression, exp.Or)
    (a, a_null), (b, b_null) = results
    if a_null is None and b_null is None:
        return (a | b if decisive else a & b), None
    a_null = np.zeros(len(a), bool) if a_null is None else a_null
    b_null = np.zeros(len(b), bool) if b_null is None else b_null
    decided = ((a == decisive) & ~a_null) | ((b == decisive) & ~b_null)
    return (decided if decisive else ~decided), (a_null | b_null) & ~decided


def _same(expression: exp.Expression, results: list[Result], columns: Columns) -> Result:
    """Null-safe equality, or its opposite."""
    types = [type_of(operand, columns.types) for operand in operands_of(expression)]
    nulls = [np.zeros(columns.count, bool) if n is None else n for _, n in results]
    arrays = [array for array, _ in results]
    compare = partial(compared, exp.EQ, types, interner=columns.interner)
    equal, _ = where_defined(any_null(*nulls), arrays, lambda a, b: (compare([a, b]), None))
    same = np.where(nulls[0] | nulls[1], nulls[0] & nulls[1], equal)
    return (same if isinstance(expression, exp.NullSafeEQ) else ~same), None


def _coalesce(expression: exp.Expression, results: list[Result], columns: Columns) -> Result:
    return reduce(or_else, results)


def _case(expression: exp.Expression, results: list[Result], columns: Columns) -> Result:
    """The value of the first branch whose condition is true, neither false nor NULL."""
    branches = 2 * len(expression.args["ifs"])
    dtype = results[1][0].dtype
    found: Result = results[branches] if len(results) > branches else (np.zeros(columns.count, dtype), None)
    values = found[0]
    nulls = np.full(columns.count, len(results) == branches) if found[1] is None else found[1]
    for (condition, unknown), (value, null) in reversed(
        [*zip(results[:branches:2], results[1:branches:2], strict=True)]
    ):
        chosen = condition if unknown is None else condition & ~unknown
        values = np.where(chosen, value, values)
        nulls = np.where(chosen, False if null is None else null, nulls)
    return values, nulls


WITH_NULLS: dict[type[exp.Expression], Callable[[exp.Expression, list[Result], Columns], Result]] = {
    exp.Is: _is_null,
    exp.And: logic,
    exp.Or: logic,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _same,
    exp.Coalesce: _coalesce,
    exp.Case: _case,
}
