"""Ranges of values, for look-ups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deltic.lazy import pa, pc
from deltic.values import in_order, of_python
from deltic.values.types import Kind, Type


@dataclass(frozen=True)
class Between:
    """The values from `low` to `high`, both included, as in SQL's BETWEEN; None is no bound. NULL is in no range."""

    low: Any = None
    high: Any = None

    @property
    def bounds(self) -> list[Any]:
        """The bounds that are not None."""
        return [bound for bound in (self.low, self.high) if bound is not None]

    def has(self, value: Any, type_: Type) -> bool:
        """Return whether a Python value is in the range."""
        if value is None:
            return False
        low, high = (None if bound is None else in_order(of_python(bound, type_)) for bound in (self.low, self.high))
        return (low is None or in_order(value) >= low) and (high is None or in_order(value) <= high)

    def mask(self, column: pa.ChunkedArray, type_: Type) -> pa.ChunkedArray:
        """Return the mask of a column's values in the range."""
        result = pc.is_valid(column)
        if self.low is not None:
            result = pc.and_(result, pc.greater_equal(column, _scalar(self.low, type_)))
        if self.high is not None:
            result = pc.and_(result, pc.less_equal(column, _scalar(self.high, type_)))
        return pc.fill_null(result, False)


def has_ranges(type_: Type) -> bool:
    """Return whether ranges of values of a type can be looked up."""
    return not type_.is_composite and type_.kind is not Kind.YEAR_MONTH_INTERVAL


def _scalar(value: Any, type_: Type) -> pa.Scalar:
    return pa.scalar(value, type_.arrow)
