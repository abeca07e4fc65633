"""Constant folding."""

from __future__ import annotations

from sqlglot import exp

from deltic.circuit.expressions import is_literal, literal, nodes_of
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import EvaluationError
from deltic.sql.scalars.typed import Typed
from deltic.values.types import Kind, Type, ValueType

_COMPOSITE = (Kind.ARRAY, Kind.STRUCT, Kind.MAP, Kind.BINARY)


def folded(typed: Typed) -> Typed:
    """Return the literal of an expression without columns; expressions with columns or without a value stay as they
    are.
    """
    expression, type_ = typed.expression, typed.type.type
    if is_literal(expression) or type_.kind in _COMPOSITE:
        return typed
    if any(isinstance(node, exp.Column | exp.Null) for node in nodes_of(expression)):
        return typed
    try:
        value = evaluate(expression, {}, {})
    except EvaluationError:
        return typed
    if value is None or _is_unwritten(value, type_):
        return typed
    return Typed(literal(value, type_), ValueType(type_), modifier=typed.modifier)


def _is_unwritten(value: object, type_: Type) -> bool:
    """Return whether no literal can express the value: NaN and infinities."""
    return (type_.is_float and value in (float("inf"), float("-inf"))) or value != value
