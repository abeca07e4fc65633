"""Conversions between time zones."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.values.types import Type

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::(\d{1,2})|(\d{2}))?(?::?(\d{2}))?", re.ASCII)
_SHORT = {
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""Java's short names of zones."""


@cache
def zone_of(name: str) -> tzinfo | None:
    """Return the zone of an IANA name, a short name or an offset; None where there is none."""
    name = _SHORT.get(name, name)
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if result := _OFFSET.fullmatch(name):
        hours, minutes, seconds = (int(part or 0) for part in (result[2], result[3] or result[4], result[5]))
        span = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        is_one = span <= timedelta(hours=18) and max(minutes, seconds) < 60
        return timezone(-span if result[1] == "-" else span) if is_one else None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _shown(source: str, target: str, time: datetime) -> datetime | None:
    """Convert a local time from one zone to another.

    A local time that occurs twice means the first; a skipped one is shifted forward by the gap.
    """
    zones = zone_of(source), zone_of(target)
    if None in zones:
        return None
    away = {1: _CYCLE, 9999: -_CYCLE}.get(time.year, 0)  # UTC may have no such year, but has the same day of another
    own = time.replace(year=time.year + away, tzinfo=zones[0])
    result = own.astimezone(UTC).astimezone(zones[1])
    year = result.year - away
    return result.replace(year=year, tzinfo=time.tzinfo) if 1 <= year <= 9999 else None


def _from_utc(time: datetime, zone: str) -> datetime | None:
    return _shown("UTC", zone, time)


def _to_utc(time: datetime, zone: str) -> datetime | None:
    return _shown(zone, "UTC", time)


_CYCLE = 400
"""The years after which the calendar is the same."""

TEXT, TIMESTAMP, NTZ = Type.STRING, Type.TIMESTAMP, Type.TIMESTAMP_NTZ

FUNCTIONS |= by_rows(
    "no kernel has Java's short zone names and gaps of clocks",
    {
        "from_utc_timestamp": Function(TIMESTAMP, "", (TIMESTAMP, TEXT), python=_from_utc, partial=True),
        "to_utc_timestamp": Function(TIMESTAMP, "", (TIMESTAMP, TEXT), python=_to_utc, partial=True),
        "converted_time": Function(NTZ, python=_shown, partial=True),
    },
)
