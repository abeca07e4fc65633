"""Parsing times by RE2 expressions whose groups are named after fields of a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from deltic.functions.calendar import DAY, FIRST, LAST, SECOND, days_of
from deltic.functions.zones import zone_of
from deltic.lazy import np, pa, pc

if TYPE_CHECKING:
    from deltic.functions.calendar import Numbers

MONTHS = ("January", "February", "March", "April", "May", "June", "July")
MONTHS += ("August", "September", "October", "November", "December")  # type: ignore[assignment]


def read_times(texts: pa.Array, pattern: str, *, in_zone: bool = True) -> tuple[Numbers, Any]:
    """Parse texts to microseconds since 1970, or to local time without shifts by zones, and say which are valid.

    Fields are year, short (of 20xx), month, name (of a month), day, ordinal (of the year), hour, late (1 to 24), clock
    (1 to 12), noon (0 to 11), half (AM, PM), minute, second, fraction and zone; `n1_year` is a year, too, where an
    option may have it again. What a text does not say is 1970-01-01 00:00:00 in UTC.
    """
    result = pc.extract_regex(texts, pattern)
    parts: dict[str, Any] = {}
    for field, part in zip(result.type, result.flatten(), strict=True):
        name, said = field.name.rpartition("_")[2], part.fill_null("")
        parts[name] = pc.if_else(pc.equal(said, ""), parts.get(name, said), said)
    years, ordinals = _years(parts, len(texts)), _number(parts, "ordinal", 1, len(texts))
    days, there = days_of(years, _months(parts, len(texts)), _number(parts, "day", 1, len(texts)))
    days = days + ordinals - 1
    there &= days.astype("M8[D]").astype("M8[Y]").astype(np.int64) == years - 1970
    hours, known = _hours(parts, len(texts))
    minutes, seconds = (_number(parts, name, 0, len(texts)) for name in ("minute", "second"))
    there &= np.asarray(result.is_valid()) & known & (hours < 24) & (minutes < 60) & (seconds < 60)
    times = days * DAY + ((hours * 60 + minutes) * 60 + seconds) * SECOND
    if "fraction" in parts:
        parts["fraction"] = pc.utf8_rpad(pc.utf8_slice_codeunits(parts["fraction"], 0, 6), 6, "0")
        times += _number(parts, "fraction", 0, len(texts))
    if "zone" in parts:
        ahead, known = _ahead_of_utc(parts["zone"], times)
        there, times = there & known, times - ahead * in_zone
    return times, there & (times >= FIRST) & (times <= LAST)


def _number(parts: Mapping[str, Any], name: str, missing: int, count: int) -> Numbers:
    if name not in parts:
        return np.full(count, missing)
    return np.asarray(pc.if_else(pc.equal(parts[name], ""), str(missing), parts[name]).cast(pa.int64()))


def _years(parts: Mapping[str, Any], count: int) -> Numbers:
    short = _number(parts, "short", -1, count)
    return _number(parts, "year", 1970, count) * (short < 0) + (2000 + short) * (short >= 0)


def _months(parts: Mapping[str, Any], count: int) -> Numbers:
    months = _number(parts, "month", 1, count)
    if "name" not in parts:
        return months
    names = pa.array([name[:3].lower() for name in MONTHS])
    places = pc.index_in(pc.utf8_lower(pc.utf8_slice_codeunits(parts["name"], 0, 3)), names).fill_null(-1)
    return np.where(np.asarray(places) < 0, months, np.asarray(places) + 1)


def _hours(parts: Mapping[str, Any], count: int) -> tuple[Numbers, Any]:
    """Return the hours of days, and where they are such: of an hour from 1 to 12 without AM or PM one in the
    morning.
    """
    whole, late = _number(parts, "hour", -1, count), _number(parts, "late", -1, count)
    whole = np.where(late < 0, whole, np.where((late >= 1) & (late <= 24), late % 24, late + 24))
    clock, noon = _number(parts, "clock", 12, count), _number(parts, "noon", 0, count)
    is_late = np.asarray(pc.equal(pc.utf8_upper(parts["half"]), "PM")) if "half" in parts else np.zeros(count, bool)
    are_right = (whole >= 0) | ((clock >= 1) & (clock <= 12) & (noon <= 11))
    return np.where(whole >= 0, whole, clock % 12 + noon + 12 * is_late), are_right


def _ahead_of_utc(zones: pa.Array, clocks: Numbers) -> tuple[Numbers, Any]:
    """Return how far clocks that show these times are ahead of UTC, in microseconds, and where there is such a zone."""
    names = zones.dictionary_encode()
    which, ahead, known = np.asarray(names.indices), np.zeros(len(clocks), np.int64), np.ones(len(clocks), bool)
    for place, name in enumerate(names.dictionary.to_pylist()):
        rows = which == place
        if (zone := zone_of(name or "UTC")) is None:
            known[rows] = False
        elif (fixed := zone.utcoffset(None)) is not None:
            ahead[rows] = fixed // timedelta.resolution
        else:
            times = np.clip(clocks[rows], FIRST + DAY, LAST - DAY).astype("M8[us]").tolist()
            ahead[rows] = [time.replace(tzinfo=zone).utcoffset() // timedelta.resolution for time in times]
    return ahead, known
