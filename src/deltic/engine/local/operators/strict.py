"""Operations that are NULL where an operand is, on the rows where none is: by numpy, by DuckDB, or row by row.

What numpy has no operation for, such as adding months to dates, is computed row by row as the reference does, and so
are everyday functions of few rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deltic.circuit.everyday import everyday
from deltic.circuit.expressions import SAFE, column, is_conversion, is_function, operands_of
from deltic.circuit.functions import evaluate_function
from deltic.circuit.oracle.evaluate import meaning
from deltic.circuit.types import Kind, Type
from deltic.circuit.values import from_arrow, to_arrow
from deltic.engine.local.operators import decimals, numbers, times
from deltic.engine.local.operators.numbers import Array, Result, stored
from deltic.engine.local.operators.results import of_arrow
from deltic.engine.local.storage.codec import decode
from deltic.engine.local.storage.interner import Interner, is_interned

if TYPE_CHECKING:
    from deltic.engine.local.operators.scalar import Node

# Rows of which everyday functions are computed one by one.
_FEW = 256
_COMPARE: dict[type[exp.Expression], Callable[[Any, Any], Any]] = {
    exp.EQ: np.equal,
    exp.NEQ: np.not_equal,
    exp.LT: np.less,
    exp.LTE: np.less_equal,
    exp.GT: np.greater,
    exp.GTE: np.greater_equal,
}


def apply(node: Node, arrays: list[Array], interner: Interner) -> Result:
    """The operation on values none of which is NULL; it may have none for some."""
    kind, types = node.kind, node.types
    if kind in _COMPARE:
        return compared(kind, types, arrays, interner), None
    if kind in (exp.Least, exp.Greatest):
        return _extreme(node, arrays, interner), None
    if kind is exp.Paren:
        return arrays[0], None
    if kind in SAFE:
        return numbers.safe_arithmetic(kind, arrays, node.result)
    if kind in (exp.Cast, exp.TryCast):
        return _cast(node, arrays, interner)
    if kind in (exp.Not, exp.BitwiseNot):
        return ~arrays[0], None
    if kind is exp.Neg and types[0].is_numeric:
        return numbers.negate(arrays[0], types[0]), None
    if is_function(node.expression):
        return _function(node, arrays, interner)
    if len(types) == 2 and types[0] is types[1] is node.result and (node.result.is_integer or node.result.is_float):
        return numbers.arithmetic(kind, arrays[0], arrays[1], node.result)
    if len(types) == 2 and all(t.kind is Kind.DECIMAL for t in types):
        return decimals.arithmetic(kind, arrays[0], arrays[1], types, node.result)
    if kind in (exp.Add, exp.Sub) and not any(t.is_numeric and t is not Type.INT32 for t in types):
        return times.arithmetic(kind, arrays[0], arrays[1], types, node.result)
    return _row_by_row(node, arrays, interner)


def _cast(node: Node, arrays: list[Array], interner: Interner) -> Result:
    """A cast: among numbers by vectors, of others by DuckDB, and one by one where it is Spark's."""
    (source,), target = node.types, node.result
    if source is target:
        return arrays[0], None
    if Kind.DECIMAL in (source.kind, target.kind):
        return _of_decimals(node, arrays, interner)
    if is_conversion(node.expression):
        both = source.is_integer and target.is_integer
        return numbers.narrowed(arrays[0], source, target) if both else _row_by_row(node, arrays, interner)
    if all(t.is_integer or t.is_float for t in (source, target)):
        return numbers.convert(arrays[0], source, target)
    return _function(node, arrays, interner)


def _of_decimals(node: Node, arrays: list[Array], interner: Interner) -> Result:
    """A cast from decimals or to them: among exact numbers and to floats by vectors, of others one by one."""
    (source,), target = node.types, node.result
    if all(t.is_integer or t.kind is Kind.DECIMAL for t in (source, target)):
        return decimals.converted(arrays[0], source, target, cuts_first=is_conversion(node.expression))
    floats = decimals.as_floats(arrays[0], source) if target is Type.FLOAT64 and source.is_numeric else None
    if floats is not None:
        return floats, None
    is_exact = source.is_numeric and target.is_numeric
    return (_row_by_row if is_exact else _function)(node, arrays, interner)


def _function(node: Node, arrays: list[Array], interner: Interner) -> Result:
    by_rows = is_conversion(node.expression) or _is_small(node, arrays)
    return (_row_by_row if by_rows else _by_duckdb)(node, arrays, interner)


def compared(kind: type[exp.Expression], types: Sequence[Type], arrays: Sequence[Array], interner: Interner) -> Array:
    """Whether values of these types compare so: bool[n]."""
    found: Array = _COMPARE[kind](*_in_order(kind, types, arrays, interner)).astype(bool, copy=False)
    return found


def _in_order(
    kind: type[exp.Expression], types: Sequence[Type], arrays: Sequence[Array], interner: Interner
) -> Sequence[Array]:
    """What compares as the values do; ids, where only equality is asked for, stay what they are."""
    type_ = types[0]
    if type_.kind is Kind.DECIMAL:
        scale = max(t.scale for t in types)
        return [decimals.rescaled(a, t.scale, scale) for a, t in zip(arrays, types, strict=True)]
    if is_interned(type_):
        return arrays if kind in (exp.EQ, exp.NEQ) else [interner[type_].order.of(a) for a in arrays]
    return [numbers.in_order(array, type_) for array in arrays]


def _extreme(node: Node, arrays: list[Array], interner: Interner) -> Array:
    type_, pick = node.result, np.minimum if node.kind is exp.Least else np.maximum
    found: Array = reduce(pick, _in_order(node.kind, node.types, arrays, interner))
    if is_interned(type_):
        return interner[type_].order.ids(found)
    return numbers.from_order(found, type_)


def _is_small(node: Node, arrays: list[Array]) -> bool:
    """Whether the rows are so few that a query to DuckDB would take longer than an everyday function of each."""
    return len(arrays[0]) <= _FEW and everyday(node.expression, node.types, node.result) is not None


def _by_duckdb(node: Node, arrays: list[Array], interner: Interner) -> Result:
    operands = [decode(stored(a, t, interner), None, t, interner) for a, t in zip(arrays, node.types, strict=True)]
    return of_arrow(evaluate_function(node.expression, operands, node.result), node.result, interner)


def _row_by_row(node: Node, arrays: list[Array], interner: Interner) -> Result:
    operands = [decode(stored(a, t, interner), None, t, interner) for a, t in zip(arrays, node.types, strict=True)]
    names = [f"a{i}" for i in range(len(operands))]
    call, types = node.expression.copy(), dict(zip(names, node.types, strict=True))
    for operand, name in zip(operands_of(call), names, strict=True):
        operand.replace(column(name))
    rows = zip(*(from_arrow(o, t) for o, t in zip(operands, node.types, strict=True)), strict=True)
    mean = meaning(call, types)
    found = [mean(dict(zip(names, row, strict=True))) for row in rows]
    return of_arrow(to_arrow(found, node.result), node.result, interner)
