"""The meaning of expressions, one row at a time: what every engine must agree with.

A meaning is a function from rows to values, made once of an expression.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any

from sqlglot import exp

from deltic.circuit.conversions import converter
from deltic.circuit.everyday import everyday
from deltic.circuit.expressions import (
    Bound,
    Checked,
    Fold,
    HigherOrder,
    column,
    is_function,
    is_literal,
    key_of,
    operands_of,
    read_of,
    type_of,
)
from deltic.circuit.expressions.checks import undefined
from deltic.circuit.functions import evaluate_call, evaluate_function
from deltic.circuit.oracle.arithmetic import calculate, fitting, negate
from deltic.circuit.spark import function_of, is_call
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
Row = Mapping[str, Any]
Meaning = Callable[[Row], Any]
# Nodes that look at NULLs themselves.
_WITH_NULLS: dict[type[exp.Expression], Callable[..., Any]] = {
    exp.Is: lambda value: value is None,
    exp.NullSafeEQ: lambda a, b: in_order(a) == in_order(b),
    exp.NullSafeNEQ: lambda a, b: in_order(a) != in_order(b),
}


def evaluate(expression: exp.Expression, row: Row, types: Mapping[str, Type]) -> Any:
    """The value of an expression on one row, None for NULL."""
    return meaning(expression, types)(row)


def meaning(expression: exp.Expression, types: Mapping[str, Type]) -> Meaning:
    """What an expression over columns of these types is on any row, None for NULL."""
    if isinstance(expression, exp.Column | Bound):
        return operator.itemgetter(key_of(expression))
    if type(expression) in _CONSTANTS:
        constant = _CONSTANTS[type(expression)](expression)
        return lambda row: constant
    operands = operands_of(expression)
    parts = [meaning(operand, types) for operand in operands]
    if isinstance(expression, HigherOrder):
        *given, body = parts
        return (_fold if isinstance(expression, Fold) else _mapped)(expression.keys, given, body)
    if isinstance(expression, exp.And | exp.Or):
        return _logic(isinstance(expression, exp.Or), parts)
    if isinstance(expression, Checked):
        return _checked(expression, types, parts[0])
    if isinstance(expression, exp.Coalesce):
        return _coalesce(parts)
    if isinstance(expression, exp.Case):
        return _case(parts, 2 * len(expression.args["ifs"]))
    if type(expression) in _WITH_NULLS:
        return _applied(_WITH_NULLS[type(expression)], parts)
    if is_call(expression):
        return _call(expression, types, parts)
    if not operands:
        return lambda row: None
    operation = _operation(expression, [type_of(operand, types) for operand in operands], type_of(expression, types))
    return _strict(operation, parts)


def _applied(operation: Callable[..., Any], parts: list[Meaning]) -> Meaning:
    return lambda row: operation(*[part(row) for part in parts])


def _strict(operation: Callable[..., Any], parts: list[Meaning]) -> Meaning:
    """NULL where an operand is."""

    def apply(row: Row) -> Any:
        values = [part(row) for part in parts]
        return None if any(value is None for value in values) else operation(*values)

    return apply


def _mapped(keys: list[str], arrays: list[Meaning], body: Meaning) -> Meaning:
    """The body's values for the elements at each place."""

    def compute(row: Row) -> Any:
        values = [array(row) for array in arrays]
        if None in values:
            return None
        return tuple(body({**row, **dict(zip(keys, elements, strict=True))}) for elements in zip(*values, strict=True))

    return compute


def _fold(keys: list[str], given: list[Meaning], body: Meaning) -> Meaning:
    """What the body makes of the last value and each element in turn."""
    start, array = given
    last, element = keys

    def compute(row: Row) -> Any:
        values = array(row)
        found = None if values is None else start(row)
        for value in values or ():
            found = body({**row, last: found, element: value})
        return found

    return compute


def _logic(decisive: bool, parts: list[Meaning]) -> Meaning:
    """Kleene's three-valued AND and OR; what follows the deciding operand is not computed."""

    def decide(row: Row) -> bool | None:
        found: bool | None = not decisive
        for part in parts:
            value = part(row)
            if value is None:
                found = None
            elif bool(value) is decisive:
                return decisive
        return found

    return decide


def _coalesce(parts: list[Meaning]) -> Meaning:
    """The first value that is not NULL; those behind it are not computed."""
    return lambda row: next((value for part in parts if (value := part(row)) is not None), None)


def _checked(expression: Checked, types: Mapping[str, Type], operation: Meaning) -> Meaning:
    """The value of an operation, which must have one where its operands are not NULL."""
    operands = [meaning(operand, types) for operand in operands_of(expression.this)]

    def check(row: Row) -> Any:
        value = operation(row)
        if value is None and all(operand(row) is not None for operand in operands):
            raise undefined(expression, read_of(expression, row))
        return value

    return check


def _case(parts: list[Meaning], branches: int) -> Meaning:
    """The value of the first branch whose condition is true, neither false nor NULL."""

    def choose(row: Row) -> Any:
        for condition, value in zip(parts[:branches:2], parts[1:branches:2], strict=True):
            if condition(row) is True:
                return value(row)
        return parts[branches](row) if len(parts) > branches else None

    return choose


def _operation(expression: exp.Expression, types: list[Type], result: Type) -> Callable[..., Any]:
    """What a node makes of operands of these types, none of them NULL."""
    kind = type(expression)
    if kind in _COMPARE:
        compare = _COMPARE[kind]
        return lambda a, b: compare(in_order(a), in_order(b))
    if kind in (exp.Least, exp.Greatest):
        pick = min if kind is exp.Least else max
        return lambda *values: pick(values, key=in_order)
    if kind is exp.Paren or (kind is exp.TryCast and types[0] is result):
        return lambda value: value
    if kind is exp.Not:
        return operator.not_
    if kind is exp.SafeNegate:
        return lambda value: fitting(-value, result)
    if kind is exp.Cast:
        return converter(types[0], result)
    if kind is exp.Neg:
        return lambda value: negate(value, result)
    if kind is exp.BitwiseNot:
        return lambda value: wrap(~value, result)
    if kind is exp.TryCast and types[0].is_numeric and result.is_numeric:
        return lambda value: convert_number(value, types[0], result)
    if is_function(expression):
        return _function(expression, types, result)
    return lambda a, b: calculate(kind, a, b, (types[0], types[1]), result)


def _call(expression: exp.Expression, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """A function of Spark by its definition, or by DuckDB where it has none."""
    function, operands = function_of(expression), operands_of(expression)
    of, result = [type_of(operand, types) for operand in operands], type_of(expression, types)
    if function.python is not None:
        return _strict(function.python, parts) if function.strict else _applied(function.python, parts)
    return _applied(partial(_called, with_arguments(expression), tuple(of), result), parts)


def with_arguments(expression: exp.Expression) -> exp.Expression:
    """The node over columns a0, a1, … in place of its operands; literals stay where they are."""
    node = expression.copy()
    for i, operand in enumerate(operands_of(node)):
        if not is_literal(operand):
            operand.replace(column(f"a{i}"))
    return node


@lru_cache(maxsize=1 << 16)
def _called(call: exp.Expression, types: tuple[Type, ...], result: Type, *values: Any) -> Any:
    """The value of a call of these operands; kept, because a query to DuckDB costs a millisecond."""
    arrays = [to_arrow([v], t) for v, t in zip(values, types, strict=True)]
    return from_arrow(evaluate_call(call, arrays, types, result), result)[0]


def _function(expression: exp.Expression, types: list[Type], result: Type) -> Callable[..., Any]:
    """A function by its definition, or by DuckDB where it has none."""
    defined, key = everyday(expression, types, result), tuple(types)
    if defined is None:
        return lambda *values: _by_duckdb(expression, values, key, result)

    def apply(*values: Any) -> Any:
        found = defined(*values)
        return _by_duckdb(expression, values, key, result) if found is NotImplemented else found

    return apply


@lru_cache(maxsize=1 << 16)
def _by_duckdb(expression: exp.Expression, values: tuple[Any, ...], types: tuple[Type, ...], result: Type) -> Any:
    """The value of a function of these operands; kept, because a query to DuckDB costs a millisecond."""
    arrays = [to_arrow([v], t) for v, t in zip(values, types, strict=True)]
    return from_arrow(evaluate_function(expression, arrays, result), result)[0]


def _interval(expression: exp.Interval) -> int | timedelta:
    """Months as a number, microseconds as a span of time."""
    number = int(expression.this.this)
    return number if expression.text("unit") == "MONTH" else timedelta(microseconds=number)


def _literal(expression: exp.Literal) -> Any:
    if expression.is_string:
        return expression.this
    return int(expression.this) if expression.is_int else float(expression.this)


_CONSTANTS: dict[type[exp.Expression], Callable[[Any], Any]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda node: bool(node.this),
    exp.Interval: _interval,
}
