"""Expressions over whole columns: the core operations by numpy, functions by DuckDB over Arrow.

A column's values are numpy arrays in the form of `numbers.natural`. The second array of a result marks its NULLs, where
values are arbitrary; None means that there are none. This module computes operands, for all rows or for those that need
them. The operations on operands are in `strict` and `with_nulls`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from deltic.circuit.expressions import (
    BoundElement,
    Checked,
    Fold,
    HigherOrder,
    Let,
    element_type,
    is_division,
    is_literal,
    key_of,
    operands_in_turn,
    operands_of,
)
from deltic.circuit.expressions.checks import undefined as undefined_error
from deltic.circuit.expressions.duckdb import queried
from deltic.circuit.expressions.meaning import meaning
from deltic.depth import deep
from deltic.engine.interrupts import postponed
from deltic.engine.operators import numbers
from deltic.engine.operators.columns import ColumnOperation, Columns, Undefined
from deltic.engine.operators.numbers import (
    Array,
    Result,
    any_null,
    as_result,
    of_arrow,
    overwritten,
    stored,
    where_defined,
)
from deltic.engine.operators.programs import ColumnProgram
from deltic.engine.operators.strict import apply
from deltic.engine.operators.with_nulls import WITH_NULLS
from deltic.engine.storage.codec import decode, encode
from deltic.engine.storage.columns import Column
from deltic.engine.storage.interner import is_interned
from deltic.functions import function_of, is_call
from deltic.values import from_arrow, to_arrow
from deltic.values.types import Kind, Type


@deep
def evaluate(expression: exp.Expression, columns: Columns) -> Result:
    """Return the values of an expression on all rows, and where it is NULL."""
    if isinstance(expression, exp.Column | BoundElement):
        key = key_of(expression)
        return as_result(*columns.values[key], columns.types[key], columns.interner)
    node = columns.node(expression)
    if node.constant is not None:
        return np.repeat(node.constant, columns.count), None
    if not node.is_function:
        return _computed(node, columns)
    if expression not in columns.known:
        columns.known[expression] = _computed(node, columns)
    return columns.known[expression]


@deep
def held(expression: exp.Expression, columns: Columns) -> Column:
    """Return the stored values of an expression, and where it is NULL."""
    if isinstance(expression, exp.Column | BoundElement):
        return columns.values[key_of(expression)]
    array, nulls = evaluate(expression, columns)
    return stored(array, columns.node(expression).result, columns.interner), nulls


def held_of_each(expressions: Sequence[exp.Expression], columns: Columns) -> list[Column]:
    """Return the same as `held` of each expression, by a program where one can compute it."""
    if not expressions or columns.programs is None:
        return [held(expression, columns) for expression in expressions]
    made = zip(expressions, _program(expressions, columns).run(columns), strict=True)
    return [held(expression, columns) if column is None else column for expression, column in made]


@deep
def _program(expressions: Sequence[exp.Expression], columns: Columns, conjunction: bool = False) -> ColumnProgram:
    assert columns.programs is not None
    key = conjunction, *map(id, expressions)
    if key not in columns.programs:
        columns.programs[key] = ColumnProgram(expressions, columns, conjunction)
    program: ColumnProgram = columns.programs[key]
    return program


def _computed(node: ColumnOperation, columns: Columns) -> Result:
    """Return the values of an operation."""
    expression = node.expression
    if node.kind in WITH_NULLS:
        return WITH_NULLS[node.kind](node, columns, evaluate)
    if is_call(expression):
        return _called(node, columns)
    if isinstance(expression, Let):
        return _let(expression, columns)
    if isinstance(expression, HigherOrder):
        return _over_elements(expression, columns)
    if isinstance(expression, Checked):
        return _checked(expression, evaluate(expression.this, columns), columns)
    results = _of_each(node, columns)
    if not results:
        return np.zeros(columns.count, numbers.dtype_of(node.result)), np.ones(columns.count, bool)
    with np.errstate(all="ignore"):
        return where_defined(
            any_null(*(nulls for _, nulls in results)),
            [array for array, _ in results],
            lambda *arrays: apply(node, list(arrays), columns.interner),
        )


def _of_each(node: ColumnOperation, columns: Columns) -> list[Result]:
    """Return the operands of a strict operation. One that may raise an error is computed only where earlier ones are
    not NULL.
    """
    results: list[Result] = []
    nulls: Array | None = None
    for operand in operands_in_turn(node.expression):
        if nulls is not None and columns.node(operand).is_checked:
            result = evaluate(operand, columns.where(~nulls))
            results.append(overwritten(~nulls, result, np.zeros(columns.count, result[0].dtype), nulls.copy()))
        else:
            results.append(evaluate(operand, columns))
        nulls = any_null(nulls, results[-1][1])
    return results[::-1] if is_division(node.expression) else results


def keep(conditions: tuple[exp.Expression, ...], columns: Columns) -> Array:
    """Return where all conditions are true: bool[n]. One that may raise an error is computed only where others are
    true.
    """
    conditions = tuple(sorted(conditions, key=lambda c: columns.node(c).is_checked))
    if columns.programs is not None and (both := _program(conditions, columns, True).run(columns)[0]) is not None:
        values, nulls = both
        return values.astype(bool) if nulls is None else values.astype(bool) & ~nulls
    mask = np.ones(columns.count, bool)
    for condition in conditions:
        if columns.node(condition).is_checked:
            mask[mask] = _holds(condition, columns.where(mask))
        else:
            mask &= _holds(condition, columns)
    return mask


def _holds(condition: exp.Expression, columns: Columns) -> Array:
    values, nulls = evaluate(condition, columns)
    return values if nulls is None else values & ~nulls


# Functions over the elements of arrays: the body is computed for all elements at once, or for those at one index.


def _let(expression: Let, columns: Columns) -> Result:
    """Evaluate the body on the columns and one more: the value of the bound name."""
    (value,), (key,) = expression.given, expression.keys
    type_ = columns.node(value).result
    values, types = {**columns.values, key: held(value, columns)}, {**columns.types, key: type_}
    return evaluate(expression.body, replace(columns, values=values, types=types))


def _over_elements(expression: HigherOrder, columns: Columns) -> Result:
    arrays = expression.given[1:] if isinstance(expression, Fold) else expression.given
    nulls = any_null(*(evaluate(array, columns)[1] for array in arrays))
    there = columns if nulls is None else columns.where(~nulls)
    lists = [_arrow(array, there) for array in arrays]
    result, own = (
        _folded(expression, lists[0], there) if isinstance(expression, Fold) else _mapped(expression, lists, there)
    )
    if nulls is None:
        return result, own
    return overwritten(~nulls, (result, own), np.zeros(columns.count, result.dtype), nulls.copy())


def _mapped(expression: HigherOrder, arrays: Sequence[Any], columns: Columns) -> Result:
    lengths = _lengths_of(arrays[0])
    given = {}
    for key, array, node in zip(expression.keys, arrays, expression.given, strict=True):
        type_ = element_type(columns.node(node).result)
        given[key] = encode(array.flatten().cast(type_.arrow), type_, columns.interner), type_
    inside = columns.within(_parents_of(lengths), expression.body, given)
    result = columns.node(expression).result
    made = _arrays_of(_arrow(expression.body, inside), lengths, result)
    return of_arrow(made, result, columns.interner)


def _folded(expression: HigherOrder, arrays: Any, columns: Columns) -> Result:
    start, array = expression.given
    type_, of_elements = columns.node(start).result, element_type(columns.node(array).result)
    (held_values, held_nulls), lengths = held(start, columns), _lengths_of(arrays)
    values, nulls = held_values.copy(), np.zeros(columns.count, bool) if held_nulls is None else held_nulls.copy()
    last, element = expression.keys
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        own = encode(_elements_at(arrays, rows, place).cast(of_elements.arrow), of_elements, columns.interner)
        given = {last: ((values[rows], nulls[rows]), type_), element: (own, of_elements)}
        result, undefined = held(expression.body, columns.within(rows, expression.body, given))
        values[rows], nulls[rows] = result, False if undefined is None else undefined
    return as_result(values, nulls, type_, columns.interner)


def _checked(expression: Checked, result: Result, columns: Columns) -> Result:
    """Check that the result of an operation is defined wherever its operands are, and return it."""
    nulls = result[1]
    if nulls is None or not nulls.any():
        return result
    there = columns.where(nulls)
    for operand in operands_in_turn(expression.this):
        absent = evaluate(operand, there)[1]
        there = there if absent is None else there.where(~absent)
    for index in range(there.count):
        row = there.row(index, expression)
        if columns.undefined is None:
            raise undefined_error(expression, row)
        columns.undefined.append(Undefined(expression, int(there.positions[index]), row))
    return result


# Functions of Spark.


def _called(node: ColumnOperation, columns: Columns) -> Result:
    """Return the value of a call, computed only where no operand is NULL if a later operand may raise an error."""
    nulls = any_null(*(nulls for _, nulls in _of_each(node, columns))) if node.stops else None
    if nulls is None:
        return _call(node, columns)
    result = _call(node, columns.where(~nulls))
    return overwritten(~nulls, result, np.zeros(columns.count, result[0].dtype), nulls.copy())


def _call(node: ColumnOperation, columns: Columns) -> Result:
    """Compute nested calls that DuckDB supports as one query; others by vectors or row by row."""
    if (vector := function_of(node.expression).vector) is not None:
        results = [evaluate(operand, columns) for operand in node.operands]
        return where_defined(any_null(*(nulls for _, nulls in results)), [array for array, _ in results], vector)
    if not columns.remembers or node.of_one is None:
        return _of_all(node.expression, columns)
    of_one = node.of_one
    ids, nulls = evaluate(of_one.operand, columns)

    def compute(wanted: Array) -> Result:
        return _of_all(of_one.call, columns.of_one(of_one, wanted))

    return where_defined(nulls, [ids], lambda there: node.remembered.of(there, compute))


def _of_all(expression: exp.Expression, columns: Columns) -> Result:
    result = columns.node(expression).result
    if not columns.count:
        return np.zeros(0, numbers.dtype_of(result)), None
    return of_arrow(_made(expression, columns), result, columns.interner)


def _made(expression: exp.Expression, columns: Columns) -> Any:
    """Return the values of a function as an Arrow column, computed by columns, row by row or by DuckDB."""
    function, node = function_of(expression), columns.node(expression)
    recurs = bool(function.duckdb) and any(_may_recur(operand, columns) for operand in node.operands)
    if function.columns is not None and not recurs:
        made = _by_columns(function.columns, expression, columns)
        if made is not None:
            return made.cast(node.result.arrow)
    if function.python is not None:
        return _one_by_one(expression, columns)
    operands = [_repeated(argument, columns) for argument in node.arguments]
    return queried(node.sql, operands or [to_arrow([0] * columns.count, Type.INT64)], node.result)


_MANY = 256
"""From this many rows on, equal arrays are written once."""


def _may_recur(expression: exp.Expression, columns: Columns) -> bool:
    """Return whether many rows may have the same arrays, as the elements of an array have."""
    return columns.count >= _MANY and columns.node(expression).result.kind is Kind.ARRAY and not is_call(expression)


def _repeated(expression: exp.Expression, columns: Columns) -> Any:
    """Return the values of an expression as `_arrow` does; arrays that recur as a dictionary.

    The elements of an array are as many rows, each with the whole of it: written out, that is quadratic.
    """
    if not _may_recur(expression, columns):
        return _arrow(expression, columns)
    type_ = columns.node(expression).result
    ids, nulls = evaluate(expression, columns)
    known, which = np.unique(ids, return_inverse=True)
    if 4 * len(known) > len(ids):
        return _arrow(expression, columns)
    values = decode(stored(known, type_, columns.interner), None, type_, columns.interner)
    return pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int32), mask=nulls), values)


def _by_columns(compute: Callable[..., Any], expression: exp.Expression, columns: Columns) -> Any | None:
    """Compute a function of Arrow columns, a strict one only where no operand is NULL. None if it fails for a row."""
    arrays = [_arrow(operand, columns) for operand in operands_of(expression)]
    there = np.ones(columns.count, bool)
    for array in arrays if function_of(expression).strict else ():
        if array.null_count:
            there &= ~np.asarray(array.is_null())
    if there.all():
        return compute(arrays, columns.count)
    made = compute([array.filter(there) for array in arrays], int(there.sum()))
    return None if made is None else made.take(pa.array(np.cumsum(there) - 1, mask=~there))


def _one_by_one(expression: exp.Expression, columns: Columns) -> Any:
    """Compute a function by its Python definition, once for all rows with equal operands."""
    function, operands = function_of(expression), operands_of(expression)
    assert function.python is not None
    compute, result = function.python, columns.node(expression).result
    there, which = _distinct([operand for operand in operands if not is_literal(operand)], columns)
    rows = zip(*(_rows(operand, there) for operand in operands), strict=True) if operands else [()] * there.count
    with postponed.let_through():
        found = [None if function.strict and None in row else compute(*row) for row in rows]
    values = to_arrow(found, result)
    return values if which is None else values.take(pa.array(which))


_TOO_FEW = 16
"""Up to this many rows, equal rows are not merged."""


def _distinct(operands: Sequence[exp.Expression], columns: Columns) -> tuple[Columns, Array | None]:
    """Return one row for each combination of the operands' values, and the combination of each row; None: the same
    rows.
    """
    if columns.count <= _TOO_FEW:
        return columns, None
    codes = np.zeros(columns.count, np.int64)
    for operand in operands:
        values, nulls = held(operand, columns)
        _, own = np.unique(values, return_inverse=True)
        own = own if nulls is None else np.where(nulls, own.max() + 1, own)
        _, codes = np.unique(codes * (own.max() + 1) + own, return_inverse=True)
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    if len(first) == columns.count:
        return columns, None
    chosen = np.zeros(columns.count, bool)
    chosen[first] = True
    return columns.where(chosen), (np.cumsum(chosen) - 1)[first][which]


def _rows(expression: exp.Expression, columns: Columns) -> Sequence[Any]:
    """Return the values of an expression as Python values."""
    if is_literal(expression):
        return [meaning(expression, {})({})] * columns.count
    return from_arrow(_arrow(expression, columns), columns.node(expression).result)


def _arrow(expression: exp.Expression, columns: Columns) -> Any:
    """Return the values of an expression as an Arrow column with NULLs. Results of calls are not interned, except texts
    that are remembered.
    """
    node = columns.node(expression)
    type_ = node.result
    is_remembered = columns.remembers and node.of_one is not None
    is_passed_on = type_.is_composite or (is_interned(type_) and not is_remembered)
    if not is_passed_on or not is_call(expression) or node.stops or node.constant is not None or not columns.count:
        array, nulls = evaluate(expression, columns)
        return decode(stored(array, type_, columns.interner), nulls, type_, columns.interner)
    if expression not in columns.arrays:
        columns.arrays[expression] = _made(expression, columns)
    return columns.arrays[expression]


def _lengths_of(arrays: pa.ListArray) -> Array:
    """Return the length of each array: int64[n]. No array is NULL."""
    result: Array = np.diff(np.asarray(arrays.offsets)).astype(np.int64)
    return result


def _parents_of(lengths: Array) -> Array:
    """Return the row of each element: int64[the sum of the lengths]."""
    return np.repeat(np.arange(len(lengths)), lengths)


def _arrays_of(elements: pa.Array, lengths: Array, type_: Type) -> pa.Array:
    """Return arrays of these lengths from consecutive elements."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), elements, type=type_.arrow)


def _elements_at(arrays: pa.ListArray, rows: Array, place: int) -> pa.Array:
    """Return the elements at index `place`, from 0, of the arrays of some rows, which have one there."""
    return arrays.values.take(pa.array(np.asarray(arrays.offsets)[:-1][rows] + place))
