"""The reference semantics of expressions, one row at a time; every engine must agree with it.

A meaning is a function from rows to values, compiled once for each expression.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import (
    BoundElement,
    Checked,
    Fold,
    Let,
    Mapped,
    is_division,
    key_of,
    operands_in_turn,
    operands_of,
    read_of,
    type_of,
)
from deltic.circuit.expressions.checks import undefined
from deltic.circuit.expressions.literals import written_value
from deltic.circuit.expressions.operations import called, operation
from deltic.depth import deep
from deltic.functions import function_of
from deltic.values import in_order
from deltic.values.types import Type

Row = Mapping[str, Any]
Meaning = Callable[[Row], Any]
# From a node and the meanings of its operands over columns of some types to its own.
Form = Callable[[Any, Mapping[str, Type], list[Meaning]], Meaning]


@deep
def evaluate(expression: exp.Expression, row: Row, types: Mapping[str, Type]) -> Any:
    """Return the value of an expression on one row, None for NULL."""
    return meaning(expression, types)(row)


def meaning(expression: exp.Expression, types: Mapping[str, Type]) -> Meaning:
    """Compile an expression over columns of these types to a function of rows; None stands for NULL."""
    if isinstance(expression, exp.Column | BoundElement):
        return operator.itemgetter(key_of(expression))
    if type(expression) in _CONSTANTS:
        constant = _CONSTANTS[type(expression)](expression)
        return lambda row: constant
    if (value := written_value(expression)) is not None:
        return lambda row: value
    operands = operands_of(expression)
    parts = [meaning(operand, types) for operand in operands]
    if type(expression) in _FORMS:
        return _FORMS[type(expression)](expression, types, parts)
    if not operands:
        return lambda row: None
    of = [type_of(operand, types) for operand in operands]
    compute = operation(expression, of, type_of(expression, types))
    if is_division(expression):
        return _strict(lambda divisor, dividend: compute(dividend, divisor), parts[::-1])
    return _strict(compute, parts)


def _applied(operation: Callable[..., Any], parts: list[Meaning]) -> Meaning:
    return lambda row: operation(*[part(row) for part in parts])


def _strict(operation: Callable[..., Any], parts: list[Meaning]) -> Meaning:
    """NULL if an operand is NULL; operands after the first NULL are not computed."""

    def apply(row: Row) -> Any:
        values = []
        for part in parts:
            if (value := part(row)) is None:
                return None
            values.append(value)
        return operation(*values)

    return apply


def _thorough(operation: Callable[..., Any], parts: list[Meaning]) -> Meaning:
    """NULL if an operand is NULL; all operands are computed."""

    def apply(row: Row) -> Any:
        values = [part(row) for part in parts]
        return None if None in values else operation(*values)

    return apply


def _with_nulls(operation: Callable[..., Any]) -> Form:
    return lambda node, types, parts: _applied(operation, parts)


def _call(node: exp.Expression, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """Return a call of a function of the table."""
    function = function_of(node)
    how = _thorough if function.thorough else _strict if function.strict else _applied
    of = [type_of(operand, types) for operand in operands_of(node)]
    return how(called(node, of, type_of(node, types)), parts)


def _mapped(node: Mapped, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """Return the array of the body's values for the elements at each position."""
    keys, (*arrays, body) = node.keys, parts

    def compute(row: Row) -> Any:
        values = [array(row) for array in arrays]
        if None in values:
            return None
        return tuple(body({**row, **dict(zip(keys, elements, strict=True))}) for elements in zip(*values, strict=True))

    return compute


def _fold(node: Fold, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """Return the body applied to the accumulated value and each element in turn."""
    start, array, body = parts
    last, element = node.keys

    def compute(row: Row) -> Any:
        values = array(row)
        result = None if values is None else start(row)
        for value in values or ():
            result = body({**row, last: result, element: value})
        return result

    return compute


def _let(node: Let, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """Return the body's value, with its name bound to a value that is computed once."""
    (key,), (value, body) = node.keys, parts
    return lambda row: body({**row, key: value(row)})


def _in(node: exp.In, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """Return whether a value is one of the constants."""
    return _strict(frozenset(meaning(one, {})({}) for one in node.expressions).__contains__, parts)


def _logic(node: exp.Expression, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """Kleene's three-valued AND and OR; operands after the deciding one are not computed."""
    decisive = isinstance(node, exp.Or)

    def decide(row: Row) -> bool | None:
        result: bool | None = not decisive
        for part in parts:
            value = part(row)
            if value is None:
                result = None
            elif bool(value) is decisive:
                return decisive
        return result

    return decide


def _coalesce(node: exp.Expression, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """Return the first value that is not NULL; the operands after it are not computed."""
    return lambda row: next((value for part in parts if (value := part(row)) is not None), None)


def _checked(node: Checked, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """Return the value of an operation; an error where it is NULL although no operand is NULL."""
    (operation,) = parts
    operands = [meaning(operand, types) for operand in operands_in_turn(node.this)]

    def check(row: Row) -> Any:
        value = operation(row)
        if value is None and all(operand(row) is not None for operand in operands):
            raise undefined(node, read_of(node, row))
        return value

    return check


def _case(node: exp.Case, types: Mapping[str, Type], parts: list[Meaning]) -> Meaning:
    """Return the value of the first branch whose condition is true, neither false nor NULL."""
    branches = 2 * len(node.args["ifs"])

    def choose(row: Row) -> Any:
        for condition, value in zip(parts[:branches:2], parts[1:branches:2], strict=True):
            if condition(row) is True:
                return value(row)
        return parts[branches](row) if len(parts) > branches else None

    return choose


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
# Nodes that handle NULLs themselves, or compute operands only where they are needed.
_FORMS: dict[type[exp.Expression], Form] = {
    exp.And: _logic,
    exp.Or: _logic,
    exp.Coalesce: _coalesce,
    exp.Case: _case,
    exp.Is: _with_nulls(lambda value: value is None),
    exp.NullSafeEQ: _with_nulls(lambda a, b: in_order(a) == in_order(b)),
    exp.NullSafeNEQ: _with_nulls(lambda a, b: in_order(a) != in_order(b)),
    exp.Anonymous: _call,
    Checked: _checked,
    Mapped: _mapped,
    Fold: _fold,
    Let: _let,
    exp.In: _in,
}
