"""Functions of dates, times and times of a day, in UTC."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from deltic.functions import calendar
from deltic.functions.calendar import DAY
from deltic.functions.function import FUNCTIONS, MOST_ELEMENTS, Function, by_rows, kernel, no_sequence
from deltic.functions.patterns import DAYS
from deltic.lazy import np
from deltic.values.types import Type

TEXT, INT, LONG, DOUBLE = Type.STRING, Type.INT32, Type.INT64, Type.FLOAT64
DATE, TIMESTAMP = Type.DATE, Type.TIMESTAMP
SPANS = {
    "WEEK": timedelta(weeks=1),
    "DAY": timedelta(days=1),
    "HOUR": timedelta(hours=1),
    "MINUTE": timedelta(minutes=1),
    "SECOND": timedelta(seconds=1),
    "MILLISECOND": timedelta(milliseconds=1),
    "MICROSECOND": timedelta(microseconds=1),
}
"""What is of one length whatever the date."""
IN_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
"""Units that are this many months."""

_SHORT_DAYS = {day[:n].upper(): i for i, day in enumerate(DAYS) for n in (2, 3, len(day))}


def _next_day(day: date, name: str) -> date | None:
    wanted = _SHORT_DAYS.get(name.upper())
    return None if wanted is None else _later(day, (wanted - day.weekday() - 1) % 7 + 1)


def _later(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def _instant(microseconds: int) -> datetime | None:
    try:
        return calendar.EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def _instant_of_seconds(seconds: Decimal) -> datetime | None:
    """Return the instant this many seconds after 1970; undefined for fractions of a microsecond."""
    microseconds = seconds.scaleb(6)
    return _instant(int(microseconds)) if microseconds == int(microseconds) else None


def _instants(microseconds: Any) -> tuple[Any, Any]:
    return microseconds, (microseconds < calendar.FIRST) | (microseconds > calendar.LAST)


def _instants_of_milliseconds(milliseconds: Any) -> tuple[Any, Any]:
    undefined = (milliseconds < -(-calendar.FIRST // 1000)) | (milliseconds > calendar.LAST // 1000)
    return milliseconds * ~undefined * 1000, undefined


def _make_dates(years: Any, months: Any, days: Any) -> tuple[Any, Any]:
    result, there = calendar.days_of(years, months, days)
    return result, ~there


def _make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: Decimal) -> datetime | None:
    """Second 60 without a fraction is the next minute's first."""
    try:
        whole = 0 if second == 60 else second
        time = datetime(year, month, day, hour, minute, int(whole), int(whole % 1 * 1_000_000), UTC)
        return time + timedelta(minutes=second == 60)
    except (ValueError, OverflowError):
        return None


def _times(start: Any, stop: Any, step: int | timedelta) -> tuple[Any, ...] | None:
    """Return the sequence of times by months or a span; None for a step in the wrong direction."""
    is_ahead = step > 0 if isinstance(step, int) else step > timedelta()
    is_of_days = isinstance(step, int) or isinstance(start, datetime) or not step % timedelta(days=1)
    if not step or not is_of_days or (stop != start and is_ahead != (stop > start)):
        return None
    if not isinstance(step, int) and abs(stop - start) >= abs(step) * MOST_ELEMENTS:
        return None
    result, count = [], 0
    while (time := _moved(start, step, count)) is not None and (time <= stop if is_ahead else time >= stop):
        result.append(time)
        count += 1
    return tuple(result)


def _moved(start: Any, step: int | timedelta, count: int) -> Any:
    """Add steps to a date or time."""
    try:
        if isinstance(step, int):
            return calendar.months_later(start, step * count)
        if isinstance(start, datetime):
            return start + step * count
        return start + count * step
    except (ValueError, OverflowError):
        return None


def _scaled(span: int | timedelta, number: Decimal | float) -> int | timedelta | None:
    """Return an interval this many times, rounded to whole months or microseconds."""
    units = _units(span)
    try:
        exact = Decimal(units * number if isinstance(number, float) else units) * (
            1 if isinstance(number, float) else number
        )
        whole = int(exact.quantize(Decimal(1), ROUND_HALF_UP))
    except (ArithmeticError, ValueError):
        return None
    return _interval(span, whole)


def _span(days: int, hours: int, minutes: int, seconds: Decimal) -> timedelta | None:
    """Return the interval of days, hours, minutes and seconds."""
    whole = ((days * 24 + hours) * 60 + minutes) * 60_000_000 + int(seconds.scaleb(6))
    result = _interval(timedelta(), whole)
    return result if isinstance(result, timedelta) else None


def _months(years: int, months: int) -> int | None:
    """Return the interval of years and months."""
    result = _interval(0, 12 * years + months)
    return result if isinstance(result, int) else None


def _divided(span: int | timedelta, number: Decimal | float) -> int | timedelta | None:
    """Return a part of an interval, rounded to whole months or microseconds."""
    units = _units(span)
    if not number:
        return None
    try:
        whole = int((Decimal(units) / Decimal(number)).quantize(Decimal(1), ROUND_HALF_UP))
    except (ArithmeticError, ValueError):
        return None
    return _interval(span, whole)


def _units(span: int | timedelta) -> int:
    """Return the months or microseconds of an interval."""
    return span if isinstance(span, int) else span // timedelta(microseconds=1)


def _interval(like: int | timedelta, units: int) -> int | timedelta | None:
    """Return an interval of the same kind of this many months or microseconds."""
    if isinstance(like, int):
        return units if -(2**31) <= units < 2**31 else None
    return timedelta(microseconds=units) if -(2**63) <= units < 2**63 else None


_PARTS: dict[str, Callable[[Any], Any]] = {
    "year": lambda months: int(months / 12),
    "month": lambda months: int(math.fmod(months, 12)),
    "day": lambda span: _toward_zero(span, 86_400_000_000),
    "hour": lambda span: _toward_zero(span, 3_600_000_000, 24),
    "minute": lambda span: _toward_zero(span, 60_000_000, 60),
}
"""The fields of intervals but seconds."""


def _toward_zero(span: timedelta, unit: int, wrap: int | None = None) -> int:
    """Return the number of whole units in a span, modulo the next greater unit."""
    units = _units(span)
    whole = abs(units) // unit
    return (-1 if units < 0 else 1) * (whole % wrap if wrap else whole)


def _seconds(span: timedelta) -> Decimal:
    units = _units(span)
    rest = Decimal(abs(units) % 60_000_000).scaleb(-6)
    return (-rest if units < 0 else rest).quantize(Decimal("0.000001"))


def _window_starts(times: Any, step: Any, origin: Any, back: Any) -> tuple[Any, Any]:
    """Return the last start of a window that is not after a time, and this many before it; starts are `step` µs
    apart.
    """
    result = times - (times - origin) % step - back * step
    return result, result < calendar.FIRST


def _month_starts(times: Any, months: Any, origin: Any) -> tuple[Any, Any]:
    """Return the last start of a window of this many months that is not after a time; one of them starts at the
    origin.
    """
    passed = (times // calendar.DAY).astype("M8[D]").astype("M8[M]") - (origin // calendar.DAY).astype("M8[D]").astype(
        "M8[M]"
    )
    number = passed.astype(np.int64) // months
    starts, outside = _instants_later(origin, number * months)
    earlier, too_early = _instants_later(origin, (number - 1) * months)
    is_later = starts > times
    return np.where(is_later, earlier, starts), outside | (is_later & too_early)


def _instants_later(times: Any, months: Any) -> tuple[Any, Any]:
    """Times some months later, and which of them are beyond the years."""
    days, outside = calendar.days_months_later(times // calendar.DAY, months)
    return days * calendar.DAY + times % calendar.DAY, outside


def _part(name: str, names: tuple[str, ...] | None = None) -> Function:
    return Function(INT, f"CAST({name}({{0}}) AS INTEGER)", (DATE,), names=names)


def _field(name: str, takes: Type = DATE, **options: Any) -> Function:
    """Return a field of a time, by the kernel of Arrow of this name."""
    return Function(INT, takes=(takes,), columns=kernel(name), **options)


_INTERVAL_FIELDS = {"year": INT, "month": Type.INT8, "day": INT, "hour": Type.INT8, "minute": Type.INT8}
_WALL = "CAST({0} AS TIMESTAMP)"

FUNCTIONS |= by_rows(
    "no kernel has Spark's intervals and its errors outside the years 1 to 9999",
    {
        "year": _field("year"),
        "month": _field("month"),
        "day": _field("day", names=("day", "dayofmonth")),
        "quarter": _field("quarter"),
        "weekofyear": _field("iso_week"),
        "yearofweek": _part("isoyear", names=()),
        "dayofyear": _field("day_of_year"),
        "dayofweek": Function(INT, "CAST(dayofweek({0}) + 1 AS INTEGER)", (DATE,)),
        "dayofweek_iso": _part("isodow", names=()),
        "weekday": _field("day_of_week"),
        "dayname": Function(TEXT, "left(dayname({0}), 3)", (DATE,)),
        "monthname": Function(TEXT, "left(monthname({0}), 3)", (DATE,)),
        "hour": _field("hour", TIMESTAMP),
        "minute": _field("minute", TIMESTAMP),
        "second": _field("second", TIMESTAMP),
        "seconds": Function(
            Type.decimal(8, 6), f"CAST((microsecond({_WALL})) / 1000000.0 AS DECIMAL(8, 6))", (TIMESTAMP,), names=()
        ),
        "date_trunc": Function(TIMESTAMP, "CAST(date_trunc({0}, CAST({1} AS TIMESTAMP)) AS TIMESTAMPTZ)"),
        "trunc": Function(DATE, "CAST(date_trunc({1}, {0}) AS DATE)"),
        "last_day": Function(DATE, "last_day({0})", (DATE,)),
        "add_months": Function(DATE, takes=(DATE, INT), vector=calendar.days_months_later, partial=True),
        "next_day": Function(DATE, "", (DATE, TEXT), python=_next_day, partial=True),
        "months_between": Function(
            DOUBLE, takes=(TIMESTAMP, TIMESTAMP, Type.BOOLEAN), defaults=(True,), vector=calendar.months_between
        ),
        "window_start": Function(lambda _, operands: operands[0], vector=_window_starts, partial=True),
        "month_window_start": Function(lambda _, operands: operands[0], vector=_month_starts, partial=True),
        "whole_months": Function(LONG, vector=calendar.whole_months),
        "sequence_of_times": Function(
            lambda _, operands: Type.array(operands[0].or_null), python=_times, partial=True, failure=no_sequence
        ),
        "make_dt_interval": Function(
            Type.DAY_TIME_INTERVAL,
            "",
            (INT, INT, INT, Type.decimal(16, 6)),
            (0, 0, 0, Decimal("0.000000")),
            _span,
            partial=True,
        ),
        "make_ym_interval": Function(Type.YEAR_MONTH_INTERVAL, "", (INT, INT), (0, 0), _months, partial=True),
        "times": Function(lambda _, operands: operands[0], python=_scaled, partial=True),
        "part_of": Function(lambda _, operands: operands[0], python=_divided, partial=True),
        **{f"{name}_of_interval": Function(_INTERVAL_FIELDS[name], python=read) for name, read in _PARTS.items()},
        "second_of_interval": Function(Type.decimal(8, 6), python=_seconds),
        "units_of_interval": Function(LONG, vector=lambda units: (units, None)),
        "interval_of_months": Function(
            Type.YEAR_MONTH_INTERVAL,
            takes=(LONG,),
            names=(),
            vector=lambda n: (n, n != n.astype("int32")),
            partial=True,
        ),
        "interval_of_microseconds": Function(
            Type.DAY_TIME_INTERVAL, takes=(LONG,), names=(), vector=lambda n: (n, None)
        ),
        "unix_micros": Function(LONG, "epoch_us({0})", (TIMESTAMP,)),
        "unix_millis": Function(
            LONG, "epoch_us({0}) // 1000 - CAST(epoch_us({0}) % 1000 < 0 AS INTEGER)", (TIMESTAMP,)
        ),
        "timestamp_micros": Function(TIMESTAMP, takes=(LONG,), vector=_instants, partial=True),
        "timestamp_seconds": Function(
            TIMESTAMP,
            python=_instant_of_seconds,
            partial=True,
            failure=lambda _: "it has parts of a microsecond, or no year up to 9999; cast it to DECIMAL(18, 6)",
        ),
        "timestamp_millis": Function(TIMESTAMP, takes=(LONG,), vector=_instants_of_milliseconds, partial=True),
        "make_date": Function(DATE, takes=(INT, INT, INT), vector=_make_dates, partial=True),
        "make_timestamp": Function(
            TIMESTAMP, "", (INT, INT, INT, INT, INT, Type.decimal(16, 6)), python=_make_timestamp, partial=True
        ),
    },
)


FUNCTIONS |= {
    "instant_of_clock": Function(Type.TIMESTAMP, vector=lambda clocks: (clocks, None)),
    "clock_of_time": Function(Type.TIME, vector=lambda times: (times % DAY, None)),
    "clock_of_micros": Function(
        Type.TIME,
        vector=lambda micros: (micros % DAY, (micros < 0) | (micros >= DAY)),
        partial=True,
        failure=lambda _: "a time of a day is from 00:00:00 to 23:59:59.999999",
    ),
    "clock_floor": Function(Type.TIME, vector=lambda clocks, unit: (clocks // unit * unit, None)),
}
