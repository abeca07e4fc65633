"""The type and nullability of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlglot import exp

from deltic.circuit.expressions.casts import (
    cast_type,
    converts_all,
    has_conversion,
    is_conversion,
    never_undefined,
)
from deltic.circuit.expressions.lambdas import BoundElement, Fold, HigherOrder, Let, Mapped
from deltic.circuit.expressions.literals import INTERVAL_UNITS, is_literal, is_literal_zero
from deltic.circuit.expressions.text import show
from deltic.circuit.expressions.trees import (
    ARITHMETIC,
    BITWISE,
    COMPARISONS,
    EQUALITIES,
    LOGIC,
    SAFE,
    Checked,
    operands_of,
)
from deltic.errors import UnsupportedError
from deltic.functions import function_of, is_call
from deltic.values.types import Kind, Type, ValueType
from deltic.values.types.value import MAX_PRECISION

_INSTANTS = (Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
_INTERVALS = (Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL)
_DIGITS = 18
"""The most digits of a decimal that fits into 64 bits."""
Rule = Callable[[Any, Sequence[Type]], Type | None]
T = TypeVar("T")


def infer(expression: exp.Expression, columns: Mapping[str, ValueType]) -> ValueType:
    """Return the type and nullability of an expression over columns of these types.

    Raises UnsupportedError for a node that is neither in the closed core nor a call, or whose operands have
    types that do not fit together.
    """
    if isinstance(expression, exp.Column):
        return columns[expression.name]
    if isinstance(expression, Checked):
        operands = [infer(child, columns) for child in operands_of(expression.this)]
        return result_of(expression, operands)
    return result_of(expression, [infer(child, columns) for child in operands_of(expression)])


def result_of(node: exp.Expression, operands: Sequence[ValueType]) -> ValueType:
    """Return the type and nullability of a node over operands of these types, for a checked node those of its
    operation.
    """
    operation = node.this if isinstance(node, Checked) else node
    type_ = _result(operation, [operand.type for operand in operands]) or _refuse(operation, operands)
    if isinstance(node, Checked):
        return ValueType(type_, any(operand.nullable for operand in operands))
    return ValueType(type_, _may_be_null(node, operands))


def type_of(expression: exp.Expression, types: Mapping[str, Type]) -> Type:
    """Return the type of an expression over columns of these types; raises as `infer` does."""
    if isinstance(expression, exp.Column):
        return types[expression.name]
    return type_over(expression, [type_of(child, types) for child in operands_of(expression)])


def type_over(expression: exp.Expression, operands: Sequence[Type]) -> Type:
    """Return the type of a node over operands of these types; raises as `infer` does."""
    return _result(expression, operands) or _refuse(expression, operands)


def _refuse(expression: exp.Expression, operands: Sequence[Type | ValueType]) -> Type:
    kind, result = type(expression).__name__, ", ".join(map(str, operands))
    raise UnsupportedError(f"{show(expression)}: {kind} of ({result}) is not supported in an expression")


def _result(expression: exp.Expression, operands: Sequence[Type]) -> Type | None:
    """Return the type of a node over operands of these types; None where they do not fit."""
    rule = _RULES.get(type(expression))
    return rule(expression, operands) if rule else None


def _cast(node: exp.Cast, operands: Sequence[Type]) -> Type | None:
    target = cast_type(node)
    return target if all(has_conversion(operand, target) for operand in operands) else None


def _one_type(node: exp.Expression, operands: Sequence[Type]) -> Type | None:
    return operands[0] if len(set(operands)) == 1 else None


def _one_ordered_type(node: exp.Expression, operands: Sequence[Type]) -> Type | None:
    return _one_type(node, operands) if operands[0].is_ordered else None


def _equality(node: exp.Expression, operands: Sequence[Type]) -> Type | None:
    same = len(set(operands)) == 1 or all(type_.kind is Kind.DECIMAL for type_ in operands)
    return Type.BOOLEAN if same else None


def is_listed(type_: Type, value: exp.Expression) -> bool:
    """Return whether IN may list a constant for values of this type: equality of the type must be equality of 64-bit
    codes.
    """
    is_exact = type_.is_integer or type_ in (Type.STRING, Type.DATE, *_INSTANTS)
    return (is_exact or (type_.kind is Kind.DECIMAL and type_.precision <= _DIGITS)) and is_literal(value)


def _case(node: exp.Case, operands: Sequence[Type]) -> Type | None:
    conditions, values = _branches(node, operands)
    return values[0] if set(conditions) == {Type.BOOLEAN} and len(set(values)) == 1 and not node.this else None


def _branches(node: exp.Case, operands: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Return the operands of CASE that are conditions, and those that are values."""
    branches = 2 * len(node.args["ifs"])
    return operands[:branches:2], (*operands[1:branches:2], *operands[branches:])


def _mapped(node: Mapped, operands: Sequence[Type]) -> Type | None:
    *arrays, body = operands
    return Type.array(body.or_null) if all(type_.kind is Kind.ARRAY for type_ in arrays) else None


def _fold(node: Fold, operands: Sequence[Type]) -> Type | None:
    start, array, body = operands
    return start if array.kind is Kind.ARRAY and body is start else None


def _integers(node: exp.Expression, operands: Sequence[Type]) -> Type | None:
    return _one_type(node, operands) if operands[0].is_integer else None


def _quotient(node: exp.IntDiv, operands: Sequence[Type]) -> Type | None:
    if all(type_.kind is Kind.DECIMAL for type_ in operands):
        return Type.INT64
    return _integers(node, operands)


def _arithmetic(node: exp.Expression, operands: Sequence[Type]) -> Type | None:
    left, right = operands
    if left.kind is right.kind is Kind.DECIMAL:
        return _of_decimals(node, left, right)
    if left is right and left.is_numeric:
        return left
    return _of_times(node, left, right) if isinstance(node, exp.Add | exp.Sub) else None


def _of_decimals(node: exp.Expression, left: Type, right: Type) -> Type | None:
    if isinstance(node, exp.Pow):
        return None
    precision, scale = decimal_result(type(node), left, right)
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), min(scale, 6))
    return Type.decimal(min(precision, MAX_PRECISION), scale)


def decimal_result(kind: type[exp.Expression], left: Type, right: Type) -> tuple[int, int]:
    """Return the precision and scale of results of decimal arithmetic, by Spark's rules; exact for all but
    quotients.
    """
    if kind is exp.Mul:
        return left.precision + right.precision + 1, left.scale + right.scale
    if kind is exp.Div:
        scale = max(6, left.scale + right.precision + 1)
        return left.precision - left.scale + right.scale + scale, scale
    scale = max(left.scale, right.scale)
    if kind is exp.Mod:
        return min(left.precision - left.scale, right.precision - right.scale) + scale, scale
    return max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale


def _of_times(node: exp.Expression, left: Type, right: Type) -> Type | None:
    """Return the type of sums and differences of times and intervals; None where there is no such operation."""
    if left is right:
        differences = {Type.DATE: Type.INT32} | dict.fromkeys(_INSTANTS, Type.DAY_TIME_INTERVAL)
        return left if left in _INTERVALS else differences.get(left) if isinstance(node, exp.Sub) else None
    moved = {Type.DATE: (Type.INT32, Type.YEAR_MONTH_INTERVAL)} | dict.fromkeys(_INSTANTS, _INTERVALS)
    return left if right in moved.get(left, ()) else None


_RULES: dict[type[exp.Expression], Rule] = {
    exp.Literal: lambda node, _: Type.STRING if node.is_string else Type.INT64 if node.is_int else Type.FLOAT64,
    exp.Boolean: lambda node, operands: Type.BOOLEAN,
    exp.Is: lambda node, operands: Type.BOOLEAN if len(operands) == 1 else None,
    exp.TryCast: _cast,
    exp.Cast: _cast,
    exp.Interval: lambda node, _: INTERVAL_UNITS.get(node.text("unit")),
    exp.Anonymous: lambda node, operands: function_of(node).type(node, operands) if is_call(node) else None,
    BoundElement: lambda node, operands: cast_type(node.expression),
    Mapped: _mapped,
    Fold: _fold,
    Let: lambda node, operands: operands[1],
    Checked: _one_type,
    exp.Paren: _one_type,
    exp.Coalesce: _one_type,
    exp.Case: _case,
    exp.In: lambda node, operands: Type.BOOLEAN if is_listed(operands[0], node.expressions[0]) else None,
    exp.Least: _one_ordered_type,
    exp.Greatest: _one_ordered_type,
    exp.Neg: lambda _, operands: operands[0] if operands[0].is_numeric or operands[0] in _INTERVALS else None,
    exp.BitwiseNot: _integers,
    exp.IntDiv: _quotient,
    **dict.fromkeys(LOGIC, lambda _, operands: Type.BOOLEAN if set(operands) == {Type.BOOLEAN} else None),
    **dict.fromkeys(COMPARISONS, lambda node, operands: _equality(node, operands) if operands[0].is_ordered else None),
    **dict.fromkeys((exp.EQ, exp.NEQ, *EQUALITIES), _equality),
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    **dict.fromkeys((*BITWISE, *SAFE), _integers),
}


def _may_be_null(node: exp.Expression, operands: Sequence[ValueType]) -> bool:
    """Return whether a node over operands of these types and nullabilities may be NULL."""
    if isinstance(node, (exp.Is, *EQUALITIES)):
        return False
    if is_call(node):
        return function_of(node).may_be_null([operand.nullable for operand in operands])
    if isinstance(node, BoundElement):
        return not node.args.get("sure")
    if isinstance(node, Let):
        return operands[1].nullable
    if isinstance(node, HigherOrder):
        return not isinstance(node, Mapped) or any(array.nullable for array in operands[:-1])
    if isinstance(node, exp.Coalesce):
        return all(operand.nullable for operand in operands)
    if isinstance(node, exp.Case):
        _, values = _branches(node, operands)
        return not node.args.get("default") or any(value.nullable for value in values)
    return any(operand.nullable for operand in operands) or _may_be_undefined(node, [o.type for o in operands])


def _may_be_undefined(node: exp.Expression, operands: Sequence[Type]) -> bool:
    """Return whether a node may be NULL although no operand is."""
    if isinstance(node, exp.Div | exp.IntDiv | exp.Mod) and (
        not is_literal(node.expression) or is_literal_zero(node.expression)
    ):
        return True
    if isinstance(node, exp.IntDiv):
        return operands[0].kind is Kind.DECIMAL
    if isinstance(node, exp.Cast):
        exact = converts_all if is_conversion(node) else never_undefined
        return not operands or not (is_literal(node) or exact(operands[0], cast_type(node)))
    if isinstance(node, SAFE):
        return True
    if isinstance(node, ARITHMETIC) and operands[0].kind is Kind.DECIMAL:
        return decimal_result(type(node), *operands)[0] > MAX_PRECISION
    if isinstance(node, exp.Add | exp.Sub | exp.Neg) and not operands[0].is_numeric:
        return operands[0] in _INTERVALS or operands[0] is not operands[1]
    return isinstance(node, exp.Pow)
