"""Vectors of dates (days since 1970), times (microseconds since 1970) and intervals (months, microseconds)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from deltic.engine.operators.numbers import Array, Result
from deltic.functions.calendar import DAY, FIRST, LAST, days_months_later
from deltic.values import LONGEST
from deltic.values.types import Type

_LONGEST = LONGEST // type(LONGEST)(microseconds=1)

_INTERVALS = (Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL)


def arithmetic(kind: type[exp.Expression], a: Array, b: Array, types: Sequence[Type], result: Type) -> Result:
    """Return a time moved by days or an interval, the difference of two times, or the sum of two intervals."""
    a, b = a.astype(np.int64), b.astype(np.int64)
    left, right = types
    signed = b if kind is exp.Add else -b
    if left is right and left not in _INTERVALS:
        return a - b, None
    if right is Type.YEAR_MONTH_INTERVAL and left is not right:
        return _months_later(a, signed, left)
    found = a + signed
    low, high = _BOUNDS[result]
    # If both operands have the same sign and the sum has the other one, it has wrapped around.
    return found, (found < low) | (found > high) | (((a ^ found) & (signed ^ found)) < 0)


def _months_later(times: Array, months: Array, type_: Type) -> Result:
    """Return the same day of another month, or the last day of that month if it is shorter."""
    days, clocks = (times, 0) if type_ is Type.DATE else (times // DAY, times % DAY)
    result, outside = days_months_later(days, months)
    return (result if type_ is Type.DATE else result * DAY + clocks), outside


_BOUNDS = {
    Type.DATE: (FIRST // DAY, LAST // DAY),
    Type.TIMESTAMP: (FIRST, LAST),
    Type.TIMESTAMP_NTZ: (FIRST, LAST),
    Type.YEAR_MONTH_INTERVAL: (-(1 << 31), (1 << 31) - 1),
    Type.DAY_TIME_INTERVAL: (-_LONGEST, _LONGEST),
}
