"""Strict operations, which are NULL if an operand is, on the rows without NULL: by numpy, by Arrow, or row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from sqlglot import exp

from deltic.circuit.expressions import SAFE, is_conversion
from deltic.circuit.expressions.operations import operation
from deltic.engine.operators import decimals, numbers, times
from deltic.engine.operators.columns import ColumnOperation
from deltic.engine.operators.numbers import Array, Result, of_arrow, stored
from deltic.engine.storage.codec import decode
from deltic.engine.storage.interner import Interner, is_interned
from deltic.functions.conversions import converted
from deltic.values import from_arrow, to_arrow
from deltic.values.types import Kind, Type

_COMPARE: dict[type[exp.Expression], Callable[[Any, Any], Any]] = {
    exp.EQ: np.equal,
    exp.NEQ: np.not_equal,
    exp.LT: np.less,
    exp.LTE: np.less_equal,
    exp.GT: np.greater,
    exp.GTE: np.greater_equal,
}


def apply(node: ColumnOperation, arrays: list[Array], interner: Interner) -> Result:
    """Apply the operation to non-NULL values. The result may be NULL for some."""
    return _OPERATIONS.get(node.kind, _arithmetic)(node, arrays, interner)


def _arithmetic(node: ColumnOperation, arrays: list[Array], interner: Interner) -> Result:
    """Return the result of an operation on two numbers or times."""
    (a, b), (left, right), result = arrays, node.types, node.result
    if left is right is result and (result.is_integer or result.is_float):
        return numbers.arithmetic(node.kind, a, b, result)
    if left.kind is right.kind is Kind.DECIMAL:
        return decimals.arithmetic(node.kind, a, b, node.types, result)
    return times.arithmetic(node.kind, a, b, node.types, result)


def _negated(node: ColumnOperation, arrays: list[Array], interner: Interner) -> Result:
    by_vectors = node.result.is_numeric
    return (numbers.negate(arrays[0], node.result), None) if by_vectors else _row_by_row(node, arrays, interner)


def _cast(node: ColumnOperation, arrays: list[Array], interner: Interner) -> Result:
    """Return a cast: among numbers by vectors, of others by Arrow."""
    (array,), (source,), target = arrays, node.types, node.result
    is_sparks, both = is_conversion(node.expression), (source, target)
    if source is target:
        return array, None
    if is_sparks and source.is_integer and target.is_integer:
        return numbers.narrowed(array, source, target)
    if Kind.DECIMAL in (source.kind, target.kind) and all(t.is_integer or t.kind is Kind.DECIMAL for t in both):
        return decimals.converted(array, source, target, cuts_first=is_sparks)
    if source.kind is Kind.DECIMAL and target is Type.FLOAT64:
        floats = decimals.as_floats(array, source)
        return _row_by_row(node, arrays, interner) if floats is None else (floats, None)
    if not is_sparks and all(t.is_numeric for t in both):
        is_plain = all(t.is_integer or t.is_float for t in both)
        return numbers.convert(array, source, target) if is_plain else _row_by_row(node, arrays, interner)
    column = decode(stored(array, source, interner), None, source, interner)
    return of_arrow(converted(column, source, target, by_part=not is_sparks), target, interner)


def _compare(node: ColumnOperation, arrays: list[Array], interner: Interner) -> Result:
    return compared(node.kind, node.types, arrays, interner), None


def compared(kind: type[exp.Expression], types: Sequence[Type], arrays: Sequence[Array], interner: Interner) -> Array:
    """Return whether values of these types compare in this way: bool[n]."""
    result: Array = _COMPARE[kind](*_in_order(kind, types, arrays, interner)).astype(bool, copy=False)
    return result


def _in_order(
    kind: type[exp.Expression], types: Sequence[Type], arrays: Sequence[Array], interner: Interner
) -> Sequence[Array]:
    """Return arrays that compare as the values do. Ids stay the same if only equality is needed."""
    type_ = types[0]
    if type_.kind is Kind.DECIMAL:
        scale = max(t.scale for t in types)
        return [decimals.rescaled(a, t.scale, scale) for a, t in zip(arrays, types, strict=True)]
    if is_interned(type_):
        return arrays if kind in (exp.EQ, exp.NEQ) else [interner[type_].order.of(a) for a in arrays]
    return [numbers.in_order(array, type_) for array in arrays]


def _among(node: ColumnOperation, arrays: list[Array], interner: Interner) -> Result:
    """Return whether values are among sorted constants."""
    values, constants = arrays[0], node.listed
    places = np.minimum(np.searchsorted(constants, values), len(constants) - 1)
    return constants[places] == values, None


def _extreme(node: ColumnOperation, arrays: list[Array], interner: Interner) -> Result:
    type_, pick = node.result, np.minimum if node.kind is exp.Least else np.maximum
    result: Array = reduce(pick, _in_order(node.kind, node.types, arrays, interner))
    return interner[type_].order.ids(result) if is_interned(type_) else numbers.from_order(result, type_), None


def _row_by_row(node: ColumnOperation, arrays: list[Array], interner: Interner) -> Result:
    columns = ((decode(stored(a, t, interner), None, t, interner), t) for a, t in zip(arrays, node.types, strict=True))
    values = map(operation(node.expression, node.types, node.result), *(from_arrow(c, t) for c, t in columns))
    return of_arrow(to_arrow(values, node.result), node.result, interner)


_OPERATIONS: dict[type[exp.Expression], Callable[[ColumnOperation, list[Array], Interner], Result]] = {
    **dict.fromkeys(_COMPARE, _compare),
    **dict.fromkeys(SAFE, lambda node, arrays, _: numbers.safe_arithmetic(node.kind, arrays, node.result)),
    **dict.fromkeys((exp.Not, exp.BitwiseNot), lambda node, arrays, _: (~arrays[0], None)),
    **dict.fromkeys((exp.Least, exp.Greatest), _extreme),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    exp.In: _among,
    exp.Neg: _negated,
    exp.Paren: lambda node, arrays, _: (arrays[0], None),
}
