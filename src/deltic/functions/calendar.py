"""The calendar of the years 1 to 9999: days and microseconds since 1970 began, single ones and arrays of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = ((time.replace(tzinfo=UTC) - EPOCH) // timedelta.resolution for time in (datetime.min, datetime.max))
"""The first and the last microsecond."""
SECOND, DAY = 1_000_000, 86_400_000_000
"""Their microseconds."""


def days_of(years: Numbers, months: Numbers, days: Numbers) -> tuple[Numbers, Any]:
    """The days of years and months, and where there is such a day."""
    import numpy as np

    there = (years >= 1) & (years <= 9999) & (months >= 1) & (months <= 12)
    begun = np.where(there, 12 * (years.astype(np.int64) - 1970) + months - 1, 0).astype("M8[M]")
    first, following = (month.astype("M8[D]").astype(np.int64) for month in (begun, begun + 1))
    there &= (days >= 1) & (days <= following - first)
    return first + np.where(there, days - 1, 0), there
