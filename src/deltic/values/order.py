"""The order of values in comparisons, minima and maxima, sorting and grouping; it is Spark's.

Text is ordered by code points, which is the order of its bytes in UTF-8, and bytes as unsigned numbers. NaN equals
itself and is above every other float; the two zeros are equal. Arrays are ordered lexicographically, structs by their
first fields that differ; inside both, NULL equals itself and is below every other value. Maps are equal when their
keys and values are, and have no order.
"""

from __future__ import annotations

import math
from typing import Any


def in_order(value: Any) -> Any:
    """Return a sort key: compares with Python's operators as the value does; None stays None.

    >>> sorted([(2, None), (1,), (2, math.nan), (2, 7.0)], key=in_order)
    [(1,), (2, None), (2, 7.0), (2, nan)]
    """
    if isinstance(value, float):
        return (True, 0.0) if math.isnan(value) else (False, value)
    if isinstance(value, tuple):
        return tuple((item is not None, in_order(item)) for item in value)
    return value
