"""The functions of `time`, over the texts that dates, times and moments stand for; years are those from 1 to 9999."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import Any

from deltic_ddlog.library.chrono import (
    SECOND,
    FormatError,
    ParsedMoment,
    day_of_year,
    moment_of,
    read,
    seconds_of,
    written,
)
from deltic_ddlog.natives import natives
from deltic_ddlog.values import Struct, err, ok, tried

_RFC2822, _RFC3339 = "%a, %d %b %Y %H:%M:%S %z", "%Y-%m-%dT%H:%M:%S%.f%:z"
_KEPT = "%Y-%m-%dT%H:%M:%S%.f%::z"
"""Moments, with the seconds of offsets that have some."""
_MAIL = re.compile(
    r"\s*(?:(\w{3})\s*,\s*)?(\d{1,2})\s+(\w{3})\s+(\d{2,})\s+(\d\d)\s*:\s*(\d\d)(?:\s*:\s*(\d\d))?\s+([+-]\d{4}|[A-Za-z]+)\s*"
)
_ZONES = {"ut": 0, "gmt": 0, "edt": -4, "est": -5, "cdt": -5, "cst": -6, "mdt": -6, "mst": -7, "pdt": -7, "pst": -8}
"""The hours that the zones of RFC 2822 are east of UTC."""
_TIME, _DATE = "%T.%f", "%Y-%m-%d"
_NOT_ENOUGH = "input is not enough for unique date and time"


def _time(nanoseconds: int) -> str:
    return written(ParsedMoment(nanoseconds=nanoseconds), _TIME)


def _of_time(text: str) -> int:
    result = read(text, _TIME).nanoseconds
    assert result is not None
    return result


def _of_date(text: str) -> date:
    return date.fromisoformat(text)


def _parts(moment: ParsedMoment) -> tuple[str, str]:
    assert moment.day is not None
    assert moment.nanoseconds is not None
    return moment.day.isoformat(), _time(moment.nanoseconds)


def _moment(text: str) -> ParsedMoment:
    return read(text, _KEPT)


def _shifted(moment: ParsedMoment, east: int) -> ParsedMoment:
    """Return the same moment by the clock elsewhere. Raises FormatError for an offset of a day or more."""
    if abs(east) >= 86400:
        raise FormatError(f"an offset of {east} s is a day or more")
    seconds = seconds_of(moment) - (moment.east or 0) + east
    return moment_of(seconds, (moment.nanoseconds or 0) % SECOND, east)


def _formatted(moment: ParsedMoment, format_: str) -> Struct:
    try:
        return ok(written(moment, format_))
    except FormatError:
        return err(f"Error in format string '{format_}'")


def _complete(value: Any) -> Any:
    if value is None:
        raise FormatError(_NOT_ENOUGH)
    return value


def _from_hms(unit: int, most: int, hours: int, minutes: int, seconds: int, parts: int = 0) -> Struct:
    if hours > 23 or minutes > 59 or seconds > 59 or parts >= most:
        return err("illegal time value")
    return ok(_time(((hours * 60 + minutes) * 60 + seconds) * SECOND + parts * unit))


def _part(unit: int, most: int, text: str) -> int:
    return _of_time(text) // unit % most


def _read_time(text: str, format_: str = _TIME) -> Struct:
    return tried(FormatError, lambda: _time(_complete(read(text, format_).nanoseconds)))


_PARTS = {"hour": (3600 * SECOND, 24), "minute": (60 * SECOND, 60), "second": (SECOND, 60)}
_PARTS |= {"millisecond": (10**6, 10**3), "microsecond": (10**3, 10**6), "nanosecond": (1, SECOND)}
natives("time", {name: partial(_part, *part) for name, part in _PARTS.items()})
natives(
    "time",
    {
        "midnight": lambda: _time(0),
        "try_from_hms": partial(_from_hms, SECOND, 1),
        "try_from_hms_milli": partial(_from_hms, 10**6, 10**3),
        "try_from_hms_micro": partial(_from_hms, 10**3, 10**6),
        "try_from_hms_nano": partial(_from_hms, 1, SECOND),
        "time2string date2string": lambda text: text,
        "time_parse string2time": _read_time,
        "time_format": lambda text, format_: _formatted(ParsedMoment(nanoseconds=_of_time(text)), format_),
    },
)

# Dates


def _day(make: Callable[..., date], *parts: int) -> Struct:
    try:
        return ok(make(*parts).isoformat())
    except (ValueError, OverflowError):
        return err("Invalid date")


def _read_date(text: str, format_: str = _DATE) -> Struct:
    return tried(FormatError, lambda: _complete(read(text, format_).day).isoformat())


_OF_DATES: dict[str, Callable[[date], Any]] = {
    "year": lambda day: day.year,
    "month": lambda day: day.month,
    "day": lambda day: day.day,
    "ordinal": lambda day: day.timetuple().tm_yday,
    "week": lambda day: day.isocalendar()[1],
    "weekday_number": date.weekday,
    "julian_day": lambda day: day.toordinal() + 1721425,
    "next_day": lambda day: (day + timedelta(days=1)).isoformat(),
    "previous_day": lambda day: (day - timedelta(days=1)).isoformat(),
}


def _on_date(function: Callable[[date], Any]) -> Callable[[str], Any]:
    return lambda text: function(_of_date(text))


natives("time", {name: _on_date(function) for name, function in _OF_DATES.items()})
natives(
    "time",
    {
        "try_from_ymd": partial(_day, date),
        "try_from_yo": partial(_day, day_of_year),
        "try_from_iso_ywd": lambda year, week, day: _day(date.fromisocalendar, year, week, day.constructor.place + 1),
        "from_julian_day": lambda day: date.fromordinal(day - 1721425).isoformat(),
        "date_parse string2date": _read_date,
        "date_format": lambda text, format_: _formatted(ParsedMoment(_of_date(text)), format_),
    },
)

# Dates with times, and moments


def _read_parts(text: str, format_: str) -> tuple[str, str]:
    """Return the date and the time that a text says. Raises FormatError."""
    result = read(text, format_)
    return _parts(ParsedMoment(_complete(result.day), _complete(result.nanoseconds)))


def _read_moment(text: str, format_: str) -> Struct:
    """Return the moment that a text says."""

    def made() -> str:
        result = read(text, format_)
        if result.day is None or result.nanoseconds is None or result.east is None:
            raise FormatError(_NOT_ENOUGH)
        return written(result, _KEPT)

    return tried(FormatError, made)


def _read_mail(text: str) -> Struct:
    """Return the moment of a text such as `Tue, 1 Jul 2003 10:52:37 +0200`.

    The day of the week and the seconds may be left out, zones have names, and years before 1000 two or three digits.
    """
    result = _MAIL.fullmatch(text)
    if not result:
        return err("input contains invalid characters")
    weekday, day, month, year, hour, minute, second, zone = result.groups()
    years = int(year) + (1900 if len(year) == 3 or (len(year) == 2 and int(year) > 49) else 2000 * (len(year) == 2))
    if zone.isalpha():
        if zone.lower() not in _ZONES:
            return err(_NOT_ENOUGH)
        zone = f"{_ZONES[zone.lower()]:+03}00"
    message = f"{day} {month} {years:04} {hour}:{minute}:{second or '00'} {zone}"
    return _read_moment(f"{weekday}, {message}" if weekday else message, _RFC2822 if weekday else _RFC2822[4:])


natives(
    "time",
    {
        "datetime_parts": lambda text, format_: tried(FormatError, lambda: _read_parts(text, format_)),
        "parts_format": lambda day, time, format_: _formatted(ParsedMoment(_of_date(day), _of_time(time)), format_),
        "parts_of_timestamp": lambda seconds: _parts(moment_of(seconds, 0, None)),
        "moment": lambda day, time, east: written(
            _shifted(ParsedMoment(_of_date(day), _of_time(time), 0), east), _KEPT
        ),
        "change_offset": lambda text, east: written(_shifted(_moment(text), east), _KEPT),
        "utc_parts": lambda text: _parts(_shifted(_moment(text), 0)),
        "time": lambda text: _parts(_moment(text))[1],
        "tz_datetime_format": lambda text, format_: _formatted(_moment(text), format_),
        "tzDateTime2string to_rfc3339": lambda text: written(_moment(text), _RFC3339),
        "to_rfc2822": lambda text: written(_moment(text), _RFC2822),
        "tz_datetime_parse": _read_moment,
        "tz_datetime_parse_from_rfc3339": lambda text: _read_moment(
            text.replace("t", "T").replace(" ", "T", 1), _RFC3339
        ),
        "tz_datetime_parse_from_rfc2822": _read_mail,
    },
)
