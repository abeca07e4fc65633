"""The calendar of the years 1 to 9999: days and microseconds since 1970, as numbers or arrays."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from deltic.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

Time = TypeVar("Time", bound=date)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = ((time.replace(tzinfo=UTC) - EPOCH) // timedelta.resolution for time in (datetime.min, datetime.max))
"""The first and the last microsecond."""
SECOND, DAY = 1_000_000, 86_400_000_000
"""Their microseconds."""


def days_of(years: Numbers, months: Numbers, days: Numbers) -> tuple[Numbers, Any]:
    """Days since 1970 from year, month and day, and whether the date exists."""
    there = (years >= 1) & (years <= 9999) & (months >= 1) & (months <= 12)
    begun = np.where(there, 12 * (years.astype(np.int64) - 1970) + months - 1, 0).astype("M8[M]")
    first, following = (month.astype("M8[D]").astype(np.int64) for month in (begun, begun + 1))
    there &= (days >= 1) & (days <= following - first)
    return first + np.where(there, days - 1, 0), there


def months_later(time: Time, months: int) -> Time:
    """Add months to a date; a day past the end of the month becomes its last. Raises ValueError beyond the years."""
    year, month = divmod(12 * time.year + time.month - 1 + months, 12)
    return time.replace(year=year, month=month + 1, day=min(time.day, monthrange(year, month + 1)[1]))


def days_months_later(days: Numbers, months: Numbers) -> tuple[Numbers, Any]:
    """Add months to dates, and say which results are beyond the years."""
    starts, day, _ = _in_month(days)
    far = abs(months) > 12 * 10_000
    wanted = starts.astype("M8[M]") + np.where(far, 0, months)
    first, following = (month.astype("M8[D]").astype(np.int64) for month in (wanted, wanted + 1))
    result = first + np.minimum(day, following - first - 1)
    outside = far | (result < FIRST // DAY) | (result > LAST // DAY)
    return np.where(outside, 0, result), outside


def whole_months(starts: Numbers, ends: Numbers) -> tuple[Numbers, None]:
    """Return the number of whole months between two instants, counted as Java does."""
    days, clocks = ends // DAY - starts // DAY, ends % DAY - starts % DAY
    moved = ((days < 0) & (clocks > 0)).astype(np.int64) - ((days > 0) & (clocks < 0))
    (earlier, start, _), (later, end, _) = _in_month(starts // DAY), _in_month(ends // DAY + moved)
    apart = (later - earlier) * 32 + end - start
    return np.sign(apart) * (abs(apart) // 32), None


def months_between(laters: Numbers, earliers: Numbers, rounded: Any) -> tuple[Any, None]:
    """`months_between`: whole months between equal days or last days of months, else with months of 31 days."""
    (later, end, is_last), (earlier, start, was_last) = (_in_month(times // DAY) for times in (laters, earliers))
    seconds = (end - start) * 86400 + laters % DAY // SECOND - earliers % DAY // SECOND
    result = later - earlier + np.where((end == start) | (is_last & was_last), 0, seconds) / (31 * 86400)
    return np.where(rounded, np.floor(result * 1e8 + 0.5) / 1e8, result), None


def _in_month(days: Numbers) -> tuple[Numbers, Numbers, Any]:
    """Return the month since 1970, the day within it, and whether it is the last day of its month."""
    months = days.astype("M8[D]").astype("M8[M]")
    first, following = (month.astype("M8[D]").astype(np.int64) for month in (months, months + 1))
    return months.astype(np.int64), days - first, days == following - 1
