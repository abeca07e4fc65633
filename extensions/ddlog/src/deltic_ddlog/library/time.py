"""The functions of `time`, over the texts that dates, times and moments stand for; years are those from 1 to 9999."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from deltic_ddlog.library.chrono import (
    SECOND,
    FormatError,
    ParsedMoment,
    moment_of,
    read,
    seconds_of,
    written,
)
from deltic_ddlog.natives import native
from deltic_ddlog.values import Struct, err, ok

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
    found = read(text, _TIME).nanoseconds
    assert found is not None
    return found


def _of_date(text: str) -> date:
    return date.fromisoformat(text)


def _parts(moment: ParsedMoment) -> tuple[str, str]:
    assert moment.day is not None
    assert moment.nanoseconds is not None
    return moment.day.isoformat(), _time(moment.nanoseconds)


def _moment(text: str) -> ParsedMoment:
    return read(text, _KEPT)


def _shifted(moment: ParsedMoment, east: int) -> ParsedMoment:
    """The same moment by the clock elsewhere. Raises FormatError for an offset of a day or more."""
    if abs(east) >= 86400:
        raise FormatError(f"an offset of {east} s is a day or more")
    seconds = seconds_of(moment) - (moment.east or 0) + east
    return moment_of(seconds, (moment.nanoseconds or 0) % SECOND, east)


def _result(make: Callable[[], Any]) -> Struct:
    try:
        return ok(make())
    except FormatError as error:
        return err(str(error))


def _formatted(moment: ParsedMoment, format_: str) -> Struct:
    try:
        return ok(written(moment, format_))
    except FormatError:
        return err(f"Error in format string '{format_}'")


def _complete(value: Any) -> Any:
    if value is None:
        raise FormatError(_NOT_ENOUGH)
    return value


# Times of day


@native("time::midnight")
def midnight() -> str:
    """The beginning of a day."""
    return _time(0)


def _from_hms(unit: int, most: int) -> Callable[..., Struct]:
    def make(hours: int, minutes: int, seconds: int, parts: int = 0) -> Struct:
        if hours > 23 or minutes > 59 or seconds > 59 or parts >= most:
            return err("illegal time value")
        return ok(_time(((hours * 60 + minutes) * 60 + seconds) * SECOND + parts * unit))

    return make


for _name, _most in (("", 1), ("_milli", 10**3), ("_micro", 10**6), ("_nano", 10**9)):
    native(f"time::try_from_hms{_name}")(_from_hms(SECOND // _most, _most))


def _part(unit: int, most: int) -> Callable[[str], int]:
    return lambda text: _of_time(text) // unit % most


for _name, _unit, _most in (
    ("hour", 3600 * SECOND, 24),
    ("minute", 60 * SECOND, 60),
    ("second", SECOND, 60),
    ("millisecond", 10**6, 10**3),
    ("microsecond", 10**3, 10**6),
    ("nanosecond", 1, SECOND),
):
    native(f"time::{_name}")(_part(_unit, _most))


@native("time::time2string")
@native("time::date2string")
def same(text: str) -> str:
    """The text that it stands for."""
    return text


@native("time::time_parse")
def time_parse(text: str, format_: str) -> Struct:
    """The time that a text says."""
    return _result(lambda: _time(_complete(read(text, format_).nanoseconds)))


@native("time::string2time")
def string2time(text: str) -> Struct:
    """The time that a text says in the usual format."""
    return time_parse(text, _TIME)


@native("time::time_format")
def time_format(text: str, format_: str) -> Struct:
    """A time in a format."""
    return _formatted(ParsedMoment(nanoseconds=_of_time(text)), format_)


# Dates


def _day(make: Callable[[], date]) -> Struct:
    try:
        return ok(make().isoformat())
    except (ValueError, OverflowError):
        return err("Invalid date")


@native("time::try_from_ymd")
def try_from_ymd(year: int, month: int, day: int) -> Struct:
    """The day of a month."""
    return _day(lambda: date(year, month, day))


@native("time::try_from_yo")
def try_from_yo(year: int, ordinal: int) -> Struct:
    """The day of a year, from 1 on."""
    found = _day(lambda: date(year, 1, 1) + timedelta(days=ordinal - 1))
    is_inside = found.constructor.place == 1 or _of_date(found.fields[0]).year == year
    return found if is_inside else err("Invalid date")


@native("time::try_from_iso_ywd")
def try_from_iso_ywd(year: int, week: int, weekday: Struct) -> Struct:
    """The day of a week of ISO 8601."""
    return _day(lambda: date.fromisocalendar(year, week, weekday.constructor.place + 1))


for _name, _of in (
    ("year", lambda day: day.year),
    ("month", lambda day: day.month),
    ("day", lambda day: day.day),
    ("ordinal", lambda day: day.timetuple().tm_yday),
    ("week", lambda day: day.isocalendar()[1]),
    ("weekday_number", date.weekday),
    ("julian_day", lambda day: day.toordinal() + 1721425),
    ("next_day", lambda day: (day + timedelta(days=1)).isoformat()),
    ("previous_day", lambda day: (day - timedelta(days=1)).isoformat()),
):
    native(f"time::{_name}")(lambda text, of=_of: of(_of_date(text)))


@native("time::from_julian_day")
def from_julian_day(day: int) -> str:
    """The day of a number, which counts from 4713 BC on. Raises ValueError."""
    return date.fromordinal(day - 1721425).isoformat()


@native("time::date_parse")
def date_parse(text: str, format_: str) -> Struct:
    """The date that a text says."""
    return _result(lambda: _complete(read(text, format_).day).isoformat())


@native("time::string2date")
def string2date(text: str) -> Struct:
    """The date that a text says in the usual format."""
    return date_parse(text, _DATE)


@native("time::date_format")
def date_format(text: str, format_: str) -> Struct:
    """A date in a format."""
    return _formatted(ParsedMoment(_of_date(text)), format_)


# Dates with times, and moments


@native("time::datetime_parts")
def datetime_parts(text: str, format_: str) -> Struct:
    """The date and the time that a text says."""

    def parts() -> tuple[str, str]:
        found = read(text, format_)
        return _parts(ParsedMoment(_complete(found.day), _complete(found.nanoseconds)))

    return _result(parts)


@native("time::parts_format")
def parts_format(day: str, time: str, format_: str) -> Struct:
    """A date and a time in a format."""
    return _formatted(ParsedMoment(_of_date(day), _of_time(time)), format_)


@native("time::parts_of_timestamp")
def parts_of_timestamp(seconds: int) -> tuple[str, str]:
    """The date and the time of so many seconds since the beginning of 1970, in UTC."""
    return _parts(moment_of(seconds, 0, None))


@native("time::moment")
def moment(day: str, time: str, east: int) -> str:
    """The moment that a date and a time in UTC are, by the clock elsewhere."""
    return written(_shifted(ParsedMoment(_of_date(day), _of_time(time), 0), east), _KEPT)


@native("time::change_offset")
def change_offset(text: str, east: int) -> str:
    """The same moment by the clock elsewhere."""
    return written(_shifted(_moment(text), east), _KEPT)


@native("time::utc_parts")
def utc_parts(text: str) -> tuple[str, str]:
    """The date and the time in UTC."""
    return _parts(_shifted(_moment(text), 0))


@native("time::time")
def time_of(text: str) -> str:
    """The time by the clock where it is."""
    return _parts(_moment(text))[1]


@native("time::tz_datetime_format")
def tz_datetime_format(text: str, format_: str) -> Struct:
    """A moment in a format."""
    return _formatted(_moment(text), format_)


@native("time::tzDateTime2string")
@native("time::to_rfc3339")
def to_rfc3339(text: str) -> str:
    """As the net has it: `2003-07-01T10:52:37+02:00`."""
    return written(_moment(text), _RFC3339)


@native("time::to_rfc2822")
def to_rfc2822(text: str) -> str:
    """As mails have it: `Tue, 01 Jul 2003 10:52:37 +0200`."""
    return written(_moment(text), _RFC2822)


@native("time::tz_datetime_parse")
def tz_datetime_parse(text: str, format_: str) -> Struct:
    """The moment that a text says."""

    def made() -> str:
        found = read(text, format_)
        if found.day is None or found.nanoseconds is None or found.east is None:
            raise FormatError(_NOT_ENOUGH)
        return written(found, _KEPT)

    return _result(made)


@native("time::tz_datetime_parse_from_rfc3339")
def from_rfc3339(text: str) -> Struct:
    """The moment of a text such as `1996-12-19T16:39:57-08:00`."""
    return tz_datetime_parse(text.replace("t", "T").replace(" ", "T", 1), _RFC3339)


@native("time::tz_datetime_parse_from_rfc2822")
def from_rfc2822(text: str) -> Struct:
    """The moment of a text such as `Tue, 1 Jul 2003 10:52:37 +0200`.

    The day of the week and the seconds may be left out, zones have names, and years before 1000 two or three digits.
    """
    found = _MAIL.fullmatch(text)
    if not found:
        return err("input contains invalid characters")
    weekday, day, month, year, hour, minute, second, zone = found.groups()
    years = int(year) + (1900 if len(year) == 3 or (len(year) == 2 and int(year) > 49) else 2000 * (len(year) == 2))
    if zone.isalpha():
        if zone.lower() not in _ZONES:
            return err(_NOT_ENOUGH)
        zone = f"{_ZONES[zone.lower()]:+03}00"
    told = f"{day} {month} {years:04} {hour}:{minute}:{second or '00'} {zone}"
    return tz_datetime_parse(f"{weekday}, {told}" if weekday else told, _RFC2822 if weekday else _RFC2822[4:])
