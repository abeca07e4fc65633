"""Expressions over whole columns: the closed core by numpy, functions by DuckDB over Arrow.

A column's values are numpy arrays as `numbers.natural` has them; the second array of a result marks its NULLs, whatever
the first has there; None means that there are none. What numpy has no operation for, such as adding months to dates, is
computed row by row as the reference does, and so are everyday functions of few rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from sqlglot import exp

from deltic.circuit.everyday import everyday
from deltic.circuit.expressions import column, is_function, operands_of, type_of
from deltic.circuit.functions import evaluate_function
from deltic.circuit.oracle.evaluate import meaning
from deltic.circuit.types import Kind, Type
from deltic.circuit.values import from_arrow, to_arrow
from deltic.engine.local.operators import numbers
from deltic.engine.local.operators.numbers import Array, Result, natural, stored
from deltic.engine.local.storage.codec import decode, encode
from deltic.engine.local.storage.interner import Interner, is_interned
from deltic.engine.local.storage.layout import Column, Nulls

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


@dataclass(frozen=True)
class Columns:
    """The columns that expressions read: int64 values as relations hold them, by name, with their types."""

    values: Mapping[str, Column]
    types: Mapping[str, Type]
    count: int
    interner: Interner


def evaluate(expression: exp.Expression, columns: Columns) -> Result:
    """The values of an expression on all rows, and where it is NULL."""
    if isinstance(expression, exp.Column):
        (values, nulls), type_ = columns.values[expression.name], columns.types[expression.name]
        return _where_defined(nulls, [values], lambda there: (natural(there, type_, columns.interner), None))
    if isinstance(expression, exp.Literal | exp.Boolean):
        return _constant(expression, columns), None
    operands = operands_of(expression)
    results = [evaluate(operand, columns) for operand in operands]
    if type(expression) in _WITH_NULLS:
        return _WITH_NULLS[type(expression)](expression, results, columns)
    if not operands:
        return np.zeros(columns.count, numbers.dtype_of(type_of(expression, {}))), np.ones(columns.count, bool)
    node = _Node(expression, [type_of(o, columns.types) for o in operands], type_of(expression, columns.types))
    with np.errstate(all="ignore"):
        return _where_defined(
            _any(*(nulls for _, nulls in results)),
            [array for array, _ in results],
            lambda *arrays: _apply(node, list(arrays), columns.interner),
        )


def keep(conditions: tuple[exp.Expression, ...], columns: Columns) -> Array:
    """Where all conditions are true: bool[n]."""
    mask = np.ones(columns.count, bool)
    for condition in conditions:
        values, nulls = evaluate(condition, columns)
        mask &= values
        if nulls is not None:
            mask &= ~nulls
    return mask


def _constant(expression: exp.Expression, columns: Columns) -> Array:
    if isinstance(expression, exp.Boolean):
        return np.full(columns.count, bool(expression.this))
    if expression.is_string:
        (held, _) = encode(to_arrow([expression.this], Type.STRING), Type.STRING, columns.interner)
        return np.full(columns.count, held[0])
    if expression.is_int:
        value = int(expression.this) % (1 << 64)
        return np.full(columns.count, value, np.uint64).view(np.int64)
    return np.full(columns.count, float(expression.this))


def _any(*nulls: Nulls) -> Nulls:
    found = [n for n in nulls if n is not None and n.any()]
    return np.logical_or.reduce(found) if found else None


def _where_defined(nulls: Nulls, arrays: Sequence[Array], compute: Callable[..., Result]) -> Result:
    """What is computed of the rows without NULL; NULL for the others."""
    if nulls is None or not nulls.any():
        return compute(*arrays)
    values, undefined = compute(*(array[~nulls] for array in arrays))
    found = np.zeros(len(nulls), values.dtype)
    found[~nulls] = values
    if undefined is not None:
        nulls = nulls.copy()
        nulls[~nulls] = undefined
    return found, nulls


# Nodes that look at NULLs themselves.


def _is_null(expression: exp.Expression, results: list[Result], columns: Columns) -> Result:
    nulls = results[0][1] if results else np.ones(columns.count, bool)
    return (np.zeros(columns.count, bool) if nulls is None else nulls), None


def _logic(expression: exp.Expression, results: list[Result], columns: Columns) -> Result:
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
    node = _Node(exp.EQ(), types, Type.BOOLEAN)
    arrays = [array for array, _ in results]
    equal, _ = _where_defined(_any(*nulls), arrays, lambda a, b: (_compared(node, [a, b], columns.interner), None))
    same = np.where(nulls[0] | nulls[1], nulls[0] & nulls[1], equal)
    return (same if isinstance(expression, exp.NullSafeEQ) else ~same), None


def _coalesce(expression: exp.Expression, results: list[Result], columns: Columns) -> Result:
    return reduce(_or_else, results)


def _or_else(first: Result, second: Result) -> Result:
    """The first where it is not NULL, the second elsewhere."""
    (a, nulls), (b, others) = first, second
    if nulls is None or not nulls.any():
        return first
    return np.where(nulls, b, a), None if others is None else nulls & others


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


_WITH_NULLS: dict[type[exp.Expression], Callable[[exp.Expression, list[Result], Columns], Result]] = {
    exp.Is: _is_null,
    exp.And: _logic,
    exp.Or: _logic,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _same,
    exp.Coalesce: _coalesce,
    exp.Case: _case,
}

# Nodes that are NULL where an operand is, for rows where none is.


@dataclass(frozen=True)
class _Node:
    """An operation with the types of its operands and of its result."""

    expression: exp.Expression
    types: list[Type]
    result: Type

    @property
    def kind(self) -> type[exp.Expression]:
        """Which operation it is."""
        return type(self.expression)


def _apply(node: _Node, arrays: list[Array], interner: Interner) -> Result:
    kind, types = node.kind, node.types
    if kind in _COMPARE:
        return _compared(node, arrays, interner), None
    if kind in (exp.Least, exp.Greatest):
        return _extreme(node, arrays, interner), None
    if kind is exp.Paren or (kind is exp.TryCast and types[0] is node.result):
        return arrays[0], None
    if kind in (exp.Not, exp.BitwiseNot):
        return ~arrays[0], None
    if kind is exp.Neg and types[0].is_numeric:
        return numbers.negate(arrays[0], types[0]), None
    if kind is exp.TryCast and all(t.is_integer or t.is_float for t in (*types, node.result)):
        return numbers.convert(arrays[0], types[0], node.result)
    if is_function(node.expression) and not all(t.is_numeric for t in (*types, node.result)):
        return (_row_by_row if _is_small(node, arrays) else _by_duckdb)(node, arrays, interner)
    if len(types) == 2 and types[0] is types[1] is node.result and (node.result.is_integer or node.result.is_float):
        return numbers.arithmetic(kind, arrays[0], arrays[1], node.result)
    if kind in (exp.Add, exp.Sub, exp.Mul) and node.result.kind is Kind.DECIMAL and numbers.is_exact(kind, *types):
        return numbers.decimal_arithmetic(kind, arrays[0], arrays[1], types, node.result), None
    return _row_by_row(node, arrays, interner)


def _compared(node: _Node, arrays: list[Array], interner: Interner) -> Array:
    found: Array = _COMPARE[node.kind](*_in_order(node, arrays, interner)).astype(bool, copy=False)
    return found


def _in_order(node: _Node, arrays: list[Array], interner: Interner) -> list[Array]:
    """What compares as the values do; ids, where only equality is asked for, stay what they are."""
    type_ = node.types[0]
    if type_.kind is Kind.DECIMAL:
        scale = max(t.scale for t in node.types)
        digits = max(t.precision + scale - t.scale for t in node.types)
        return [numbers.rescaled(a, t, scale, digits) for a, t in zip(arrays, node.types, strict=True)]
    if is_interned(type_):
        return arrays if node.kind in (exp.EQ, exp.NEQ) else [interner[type_].order.of(a) for a in arrays]
    return [numbers.in_order(array, type_) for array in arrays]


def _extreme(node: _Node, arrays: list[Array], interner: Interner) -> Array:
    type_, pick = node.result, np.minimum if node.kind is exp.Least else np.maximum
    found: Array = reduce(pick, _in_order(node, arrays, interner))
    if is_interned(type_) and type_.kind is not Kind.DECIMAL:
        return interner[type_].order.ids(found)
    return numbers.from_order(found, type_)


def _is_small(node: _Node, arrays: list[Array]) -> bool:
    """Whether the rows are so few that a query to DuckDB would take longer than an everyday function of each."""
    return len(arrays[0]) <= _FEW and everyday(node.expression, node.types, node.result) is not None


def _by_duckdb(node: _Node, arrays: list[Array], interner: Interner) -> Result:
    operands = [decode(stored(a, t, interner), None, t, interner) for a, t in zip(arrays, node.types, strict=True)]
    return _of_arrow(evaluate_function(node.expression, operands, node.result), node, interner)


def _row_by_row(node: _Node, arrays: list[Array], interner: Interner) -> Result:
    operands = [decode(stored(a, t, interner), None, t, interner) for a, t in zip(arrays, node.types, strict=True)]
    names = [f"a{i}" for i in range(len(operands))]
    call, types = node.expression.copy(), dict(zip(names, node.types, strict=True))
    for operand, name in zip(operands_of(call), names, strict=True):
        operand.replace(column(name))
    rows = zip(*(from_arrow(o, t) for o, t in zip(operands, node.types, strict=True)), strict=True)
    mean = meaning(call, types)
    found = [mean(dict(zip(names, row, strict=True))) for row in rows]
    return _of_arrow(to_arrow(found, node.result), node, interner)


def _of_arrow(found: Any, node: _Node, interner: Interner) -> Result:
    values, nulls = encode(found, node.result, interner)
    return _where_defined(nulls, [values], lambda there: (natural(there, node.result, interner), None))
