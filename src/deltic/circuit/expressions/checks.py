"""Error messages for operations that have no value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions.lambdas import BoundElement, Fold, HigherOrder
from deltic.circuit.expressions.text import show
from deltic.circuit.expressions.trees import SAFE, Checked, column, operands_of, put
from deltic.errors import EvaluationError
from deltic.functions.function import PREFIX, function_of, is_call

_PLAIN: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.SafeAdd: exp.Add,
    exp.SafeSubtract: exp.Sub,
    exp.SafeMultiply: exp.Mul,
    exp.SafeNegate: exp.Neg,
}


def undefined(expression: Checked, row: Mapping[str, Any]) -> EvaluationError:
    """Return the error of a checked operation on a row with these values."""
    values = ", ".join(f"{name} = {show_value(value)}" for name, value in row.items())
    where = f" for {values}" if values else ""
    return EvaluationError(f"{spoken(expression)} is undefined{where}: {_failure(expression.this, row)}")


def _failure(operation: exp.Expression, row: Mapping[str, Any]) -> str:
    """Return why an operation has no value: the message of the called function, or a general reason."""
    failure = function_of(operation).failure if is_call(operation) else None
    if failure is None:
        return reason(operation)
    operands = operands_of(operation)
    is_known = all(isinstance(operand, exp.Column) or operand.is_string for operand in operands)
    return failure([row.get(o.name) if isinstance(o, exp.Column) else o.this for o in operands] if is_known else None)


def spoken(expression: exp.Expression) -> str:
    """Return the expression as the user may have written it: no checks, no coercions, functions by their names."""
    around = exp.Paren(this=expression.copy())
    for node in reversed(list(around.this.walk())):
        if isinstance(node, BoundElement):
            put(node, column(node.name))
        elif isinstance(node, HigherOrder):
            put(node, _spoken_lambda(node))
        elif isinstance(node, exp.Cast) and _is_decimal(node):
            put(node, exp.Literal.number(node.name))
        elif isinstance(node, Checked | exp.TryCast) and not isinstance(node.this, exp.Null):
            put(node, node.this)
        elif type(node) in _PLAIN:
            put(node, _PLAIN[type(node)](**node.args))
        elif isinstance(node, exp.Anonymous) and node.name == f"{PREFIX}BOUNDED_TEXT":
            text, limit, is_fixed = node.expressions
            kind = f"{'CHAR' if is_fixed.this else 'VARCHAR'}({limit.name})"
            put(node, exp.Cast(this=text, to=exp.DataType(this=exp.DType.USERDEFINED, kind=kind)))
        elif isinstance(node, exp.Anonymous):
            node.set("this", node.name.removeprefix("SPARK_").lower().partition("__")[0])
    return show(around.this)


def _is_decimal(node: exp.Cast) -> bool:
    """Return whether it is a decimal literal: a text of digits, cast."""
    return isinstance(node.this, exp.Literal) and node.this.is_string and node.to.is_type("decimal")


def _spoken_lambda(node: HigherOrder) -> exp.Expression:
    """Return a function over elements as the user may have written it: arrays, and a lambda with its names and body."""
    names = [exp.to_identifier(name.this) for name in node.expressions[:-1:2]]
    arrow = exp.Lambda(this=node.body.copy(), expressions=names)
    name = "aggregate" if isinstance(node, Fold) else "transform"
    return exp.Anonymous(this=name, expressions=[*(part.copy() for part in node.given), arrow])


def show_value(value: Any) -> str:
    """Return a value as people write it, and a row as a tuple: (1, 'ada', 9.50, 2026-01-31 12:00:00+00:00, NULL)."""
    if value is None:
        return "NULL"
    if isinstance(value, tuple | list):
        parts = ", ".join(map(show_value, value))
        return f"({parts})" if isinstance(value, tuple) else f"[{parts}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {show_value(part)}" for name, part in value.items()) + "}"
    return str(value) if isinstance(value, Decimal | date | timedelta) else repr(value)


def reason(operation: exp.Expression) -> str:
    """Return why an operation has no value."""
    if isinstance(operation, SAFE):
        return "the result does not fit into its type; cast an operand to a wider one"
    if isinstance(operation, exp.Div | exp.IntDiv | exp.Mod):
        return "the divisor is zero, or the result does not fit into its type; try_divide and try_mod give NULL there"
    if isinstance(operation, exp.Cast):
        is_of_days = operation.args["to"].this in exp.DataType.TEMPORAL_TYPES
        years = " of the years 1 to 9999" if is_of_days else ""
        return f"the value is no {operation.args['to'].sql(dialect='spark')}{years}; try_cast gives NULL there"
    if isinstance(operation, exp.Anonymous) and operation.name == "SPARK_SCALAR_SUBQUERY":
        return "it may have one row for each row around it; aggregate it without GROUP BY, or add LIMIT 1"
    if isinstance(operation, exp.Anonymous):
        return "there is no such value"
    return "the result does not fit into its type"
