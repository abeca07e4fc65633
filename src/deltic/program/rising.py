"""Expressions that never fall when a variable rises: a lower bound of the variable gives one of the expression.

Where they are undefined they are NULL, or an error; they never wrap around.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from deltic.circuit.expressions import Checked, cast_type, columns_of, is_literal
from deltic.functions.function import PREFIX, is_call
from deltic.values.types import Type

_WIDE = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.INT64)
_NARROW = (Type.INT8, Type.INT16, Type.INT32)
"""Types to which times and signed integers can be cast without wrapping around: _NARROW only by Spark's casts."""
_CALLS = {
    "window_start": 0,
    "date_trunc": 1,
    "trunc": 0,
    "last_day": 0,
    "add_months": 0,
    "year": 0,
    "unix_micros": 0,
    "unix_millis": 0,
    "timestamp_micros": 0,
    "timestamp_millis": 0,
}
"""Functions that rise with the operand at this position if the others are constants."""
_SAFE = (exp.SafeAdd, exp.SafeSubtract)


def rising(expression: exp.Expression, limits: Mapping[str, exp.Expression]) -> exp.Expression | None:
    """Return the expression if it rises with its one column outside of `limits`, with columns of `limits` replaced;
    else None.

    `limits` are the greatest values of columns.
    """
    if isinstance(expression, exp.Column):
        return None if expression.name in limits else expression
    if isinstance(expression, Checked):
        inner = rising(expression.this, limits)
        return None if inner is None else Checked(this=inner.copy())
    if isinstance(expression, exp.Cast) and not is_literal(expression):
        reached = _WIDE if isinstance(expression, exp.TryCast) else (*_WIDE, *_NARROW)
        inner = rising(expression.this, limits) if cast_type(expression) in reached else None
        return None if inner is None else _with(expression, "this", inner)
    if isinstance(expression, exp.Add | exp.Sub | exp.SafeAdd | exp.SafeSubtract):
        return _sum(expression, limits)
    return _call(expression, limits) if is_call(expression) else None


def _sum(expression: exp.Expression, limits: Mapping[str, exp.Expression]) -> exp.Expression | None:
    """Return a time or number plus or minus a constant; sums of integers that wrap around may fall."""
    constant = expression.expression
    if not is_literal(constant) or not (isinstance(expression, _SAFE) or isinstance(constant, exp.Interval)):
        return None
    inner = rising(expression.this, limits)
    return None if inner is None else _with(expression, "this", inner)


def _call(expression: exp.Expression, limits: Mapping[str, exp.Expression]) -> exp.Expression | None:
    name = expression.name.removeprefix(PREFIX).lower()
    if name not in _CALLS:
        return None
    operands = list(expression.expressions)
    inner = rising(operands[_CALLS[name]], limits)
    operands[_CALLS[name]] = inner
    if name == "window_start" and isinstance(operands[3], exp.Column):  # it falls with this one
        operands[3] = limits.get(operands[3].name)
    others = [operand for number, operand in enumerate(operands) if number != _CALLS[name]]
    if inner is None or any(operand is None or not is_literal(operand) for operand in others):
        return None
    return exp.Anonymous(this=expression.this, expressions=[operand.copy() for operand in operands])


def shifted_back(expression: exp.Expression, least: exp.Expression) -> tuple[str, exp.Expression] | None:
    """Return the column of `expression` and its lower bound, if `expression` is the column ± a constant, at least
    `least`.
    """
    inner = expression.this if isinstance(expression, Checked) else expression
    opposite: dict[type[exp.Expression], type[exp.Expression]] = {
        exp.Add: exp.Sub,
        exp.Sub: exp.Add,
        exp.SafeAdd: exp.SafeSubtract,
        exp.SafeSubtract: exp.SafeAdd,
    }
    if isinstance(inner, exp.Column):
        return inner.name, least
    if type(inner) not in opposite or not isinstance(inner.this, exp.Column) or rising(inner, {}) is None:
        return None
    back = opposite[type(inner)](this=least.copy(), expression=inner.expression.copy())
    return inner.this.name, Checked(this=back)


def _with(expression: exp.Expression, key: str, value: exp.Expression) -> exp.Expression:
    copy = expression.copy()
    copy.set(key, value.copy())
    return copy


def column_of(expression: exp.Expression) -> str:
    """Return the name of the one column of a rising expression."""
    (name,) = columns_of(expression)
    return name
