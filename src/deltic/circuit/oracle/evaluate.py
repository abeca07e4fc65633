"""The meaning of expressions, one row at a time: what every engine must agree with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import is_function, operands_of, type_of
from deltic.circuit.functions import evaluate_function
from deltic.circuit.oracle.arithmetic import calculate, negate
from deltic.circuit.types import Type
from deltic.circuit.values import from_arrow, in_order, to_arrow
from deltic.circuit.values.numbers import convert_number, wrap

_COMPARE: dict[type[exp.Expression], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
# Nodes that look at NULLs themselves.
_WITH_NULLS: dict[type[exp.Expression], Callable[..., Any]] = {
    exp.Is: lambda value: value is None,
    exp.NullSafeEQ: lambda a, b: in_order(a) == in_order(b),
    exp.NullSafeNEQ: lambda a, b: in_order(a) != in_order(b),
    exp.Coalesce: lambda *values: next((value for value in values if value is not None), None),
}


def evaluate(expression: exp.Expression, row: Mapping[str, Any], types: Mapping[str, Type]) -> Any:
    """The value of an expression on one row, None for NULL."""
    if isinstance(expression, exp.Column):
        return row[expression.name]
    if isinstance(expression, exp.Literal):
        return _literal(expression)
    if isinstance(expression, exp.Boolean):
        return bool(expression.this)
    if isinstance(expression, exp.And | exp.Or):
        return _logic(expression, row, types)
    if isinstance(expression, exp.Case):
        return _case(expression, row, types)
    operands = operands_of(expression)
    values = [evaluate(child, row, types) for child in operands]
    if type(expression) in _WITH_NULLS:
        return _WITH_NULLS[type(expression)](*values)
    if not values or any(v is None for v in values):
        return None
    return _apply(expression, values, [type_of(child, types) for child in operands], type_of(expression, types))


def _case(expression: exp.Case, row: Mapping[str, Any], types: Mapping[str, Type]) -> Any:
    """The value of the first branch whose condition is true, neither false nor NULL."""
    for branch in expression.args["ifs"]:
        if evaluate(branch.this, row, types) is True:
            return evaluate(branch.args["true"], row, types)
    default = expression.args.get("default")
    return None if default is None else evaluate(default, row, types)


def _apply(expression: exp.Expression, values: list[Any], types: list[Type], result: Type) -> Any:
    kind = type(expression)
    if kind in _COMPARE:
        return _COMPARE[kind](*map(in_order, values))
    if kind in (exp.Least, exp.Greatest):
        return min(values, key=in_order) if kind is exp.Least else max(values, key=in_order)
    if kind is exp.Paren or (kind is exp.TryCast and types[0] is result):
        return values[0]
    if kind is exp.Not:
        return not values[0]
    if kind is exp.Neg:
        return negate(values[0], result)
    if kind is exp.BitwiseNot:
        return wrap(~values[0], result)
    if isinstance(expression, exp.TryCast) and types[0].is_numeric and result.is_numeric:
        return convert_number(values[0], types[0], result)
    if is_function(expression):
        return _function(expression, tuple(values), tuple(types), result)
    return calculate(kind, values[0], values[1], (types[0], types[1]), result)


@lru_cache(maxsize=1 << 16)
def _function(expression: exp.Expression, values: tuple[Any, ...], types: tuple[Type, ...], result: Type) -> Any:
    """The value of a function of these operands; kept, because a query to DuckDB costs a millisecond."""
    arrays = [to_arrow([v], t) for v, t in zip(values, types, strict=True)]
    return from_arrow(evaluate_function(expression, arrays, result), result)[0]


def _logic(expression: exp.Expression, row: Mapping[str, Any], types: Mapping[str, Type]) -> bool | None:
    """Kleene's three-valued AND and OR."""
    decisive = isinstance(expression, exp.Or)
    values = [evaluate(child, row, types) for child in operands_of(expression)]
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def _literal(expression: exp.Literal) -> Any:
    if expression.is_string:
        return expression.this
    return int(expression.this) if expression.is_int else float(expression.this)
