"""The operations of nodes on single non-NULL values, by kind of node; None where a node is undefined.

Numbers and times are in `arithmetic`, other casts in `functions.conversions`. Calls of functions
that are defined only on columns are computed on columns of one row; results of DuckDB are cached, because a query costs
a millisecond.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions.arithmetic import arithmetic, fitting, negate
from deltic.circuit.expressions.duckdb import computed, over_columns
from deltic.functions import Function, function_of
from deltic.functions.conversions import converter
from deltic.values import from_arrow, in_order, to_arrow
from deltic.values.numbers import convert_number, wrap
from deltic.values.types import Type

Operation = Callable[..., Any]
# From a node, the types of its operands and the type of its value to its operation.
Make = Callable[[Any, Sequence[Type], Type], Operation]


def operation(node: exp.Expression, types: Sequence[Type], result: Type) -> Operation:
    """Return the operation of a node on values of these types."""
    return _OPERATIONS.get(type(node), _arithmetic)(node, types, result)


def called(node: exp.Expression, types: Sequence[Type], result: Type) -> Operation:
    """Return the operation of a called function of the table; if the function is not strict it also receives NULLs."""
    function = function_of(node)
    if function.python is not None:
        return function.python
    if function.duckdb:
        return partial(_by_duckdb, over_columns(node), tuple(types), result)
    return partial(_of_columns, function, types, result)


def _of_columns(function: Function, types: Sequence[Type], result: Type, *values: Any) -> Any:
    column = function.of_columns(_columns(values, types), types, 1, result)
    return from_arrow(column.cast(result.arrow), result)[0]


@lru_cache(maxsize=1 << 16)
def _by_duckdb(node: exp.Expression, types: tuple[Type, ...], result: Type, *values: Any) -> Any:
    return from_arrow(computed(node, _columns(values, types), types, result), result)[0]


def _columns(values: Sequence[Any], types: Sequence[Type]) -> list[Any]:
    """One column of one row for each value."""
    return [to_arrow([value], type_) for value, type_ in zip(values, types, strict=True)]


def _compared(compare: Callable[[Any, Any], bool]) -> Make:
    return lambda node, types, result: lambda a, b: compare(in_order(a), in_order(b))


def _arithmetic(node: exp.Expression, types: Sequence[Type], result: Type) -> Operation:
    return arithmetic(type(node), types, result)


def _cast(node: exp.TryCast, types: Sequence[Type], result: Type) -> Operation:
    (source,) = types
    if source is result:
        return _itself
    if source.is_numeric and result.is_numeric:
        return lambda value: convert_number(value, source, result)
    return converter(source, result, by_part=True)


def _itself(value: Any) -> Any:
    return value


_OPERATIONS: dict[type[exp.Expression], Make] = {
    exp.EQ: _compared(operator.eq),
    exp.NEQ: _compared(operator.ne),
    exp.LT: _compared(operator.lt),
    exp.LTE: _compared(operator.le),
    exp.GT: _compared(operator.gt),
    exp.GTE: _compared(operator.ge),
    exp.Least: lambda node, types, result: lambda *values: min(values, key=in_order),
    exp.Greatest: lambda node, types, result: lambda *values: max(values, key=in_order),
    exp.Paren: lambda node, types, result: _itself,
    exp.Not: lambda node, types, result: operator.not_,
    exp.Neg: lambda node, types, result: lambda value: negate(value, result),
    exp.SafeNegate: lambda node, types, result: lambda value: fitting(-value, result),
    exp.BitwiseNot: lambda node, types, result: lambda value: wrap(~value, result),
    exp.Cast: lambda node, types, result: converter(types[0], result),
    exp.TryCast: _cast,
}
