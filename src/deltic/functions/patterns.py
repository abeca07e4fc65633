"""Formatting and parsing times by patterns of Java's `DateTimeFormatter`, in UTC."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from deltic.functions.calendar import DAY, EPOCH, FIRST, LAST, SECOND, days_of
from deltic.functions.function import FUNCTIONS, Function
from deltic.functions.zones import zone_of
from deltic.lazy import np, pa, pc
from deltic.values import from_arrow, of_numbers
from deltic.values.types import Type

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
    years, ordinals = _years(parts, len(texts)), _numbers(parts, "ordinal", 1, len(texts))
    days, there = days_of(years, _months(parts, len(texts)), _numbers(parts, "day", 1, len(texts)))
    days = days + ordinals - 1
    there &= days.astype("M8[D]").astype("M8[Y]").astype(np.int64) == years - 1970
    hours, known = _hours(parts, len(texts))
    minutes, seconds = (_numbers(parts, name, 0, len(texts)) for name in ("minute", "second"))
    there &= np.asarray(result.is_valid()) & known & (hours < 24) & (minutes < 60) & (seconds < 60)
    times = days * DAY + ((hours * 60 + minutes) * 60 + seconds) * SECOND
    if "fraction" in parts:
        parts["fraction"] = pc.utf8_rpad(pc.utf8_slice_codeunits(parts["fraction"], 0, 6), 6, "0")
        times += _numbers(parts, "fraction", 0, len(texts))
    if "zone" in parts:
        ahead, known = _ahead_of_utc(parts["zone"], times)
        there, times = there & known, times - ahead * in_zone
    return times, there & (times >= FIRST) & (times <= LAST)


def _numbers(parts: Mapping[str, Any], name: str, missing: int, count: int) -> Numbers:
    if name not in parts:
        return np.full(count, missing)
    return np.asarray(pc.if_else(pc.equal(parts[name], ""), str(missing), parts[name]).cast(pa.int64()))


def _years(parts: Mapping[str, Any], count: int) -> Numbers:
    short = _numbers(parts, "short", -1, count)
    return _numbers(parts, "year", 1970, count) * (short < 0) + (2000 + short) * (short >= 0)


def _months(parts: Mapping[str, Any], count: int) -> Numbers:
    months = _numbers(parts, "month", 1, count)
    if "name" not in parts:
        return months
    names = pa.array([name[:3].lower() for name in MONTHS])
    places = pc.index_in(pc.utf8_lower(pc.utf8_slice_codeunits(parts["name"], 0, 3)), names).fill_null(-1)
    return np.where(np.asarray(places) < 0, months, np.asarray(places) + 1)


def _hours(parts: Mapping[str, Any], count: int) -> tuple[Numbers, Any]:
    """Return the hours of days, and where they are such: of an hour from 1 to 12 without AM or PM one in the
    morning.
    """
    whole, late = _numbers(parts, "hour", -1, count), _numbers(parts, "late", -1, count)
    whole = np.where(late < 0, whole, np.where((late >= 1) & (late <= 24), late % 24, late + 24))
    clock, noon = _numbers(parts, "clock", 12, count), _numbers(parts, "noon", 0, count)
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


DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PATTERN = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*|[\[\]])|([^A-Za-z'\[\]]+)")
"""The parts of a pattern of a time: quoted texts, letters that are alike or brackets, other characters."""
_ORDINALS = ("1st", "2nd", "3rd", "4th")

Write = Callable[[datetime], str]


def _number(letter: str, value: Callable[[datetime], int], most: int = 2) -> dict[str, Write]:
    """Format a number with at least as many digits as letters."""
    return {digits * letter: partial(_padded, value, digits) for digits in range(1, most + 1)}


def _padded(value: Callable[[datetime], int], digits: int, time: datetime) -> str:
    return f"{value(time):0{digits}}"


def _quarter(time: datetime) -> int:
    return (time.month + 2) // 3


def _fraction(start: int, end: int, time: datetime) -> str:
    return f"{time.microsecond:06}000"[start:end]


def _nothing(time: datetime) -> str:
    return ""


_OF_DAYS: dict[str, Write] = {
    **dict.fromkeys(("G", "GG", "GGG"), lambda t: "AD"),
    "GGGG": lambda t: "Anno Domini",
    "y": lambda t: str(t.year),
    "yy": lambda t: f"{t.year % 100:02}",
    **{digits * "y": partial(_padded, lambda t: t.year, digits) for digits in range(3, 7)},
    **_number("M", lambda t: t.month),
    "MMM": lambda t: MONTHS[t.month - 1][:3],
    "MMMM": lambda t: MONTHS[t.month - 1],
    **_number("L", lambda t: t.month),
    "LLL": lambda t: MONTHS[t.month - 1][:3],
    "LLLL": lambda t: MONTHS[t.month - 1],
    **_number("d", lambda t: t.day),
    **_number("D", lambda t: t.timetuple().tm_yday, 3),
    "F": lambda t: str((t.day - 1) % 7 + 1),
    **dict.fromkeys(("E", "EE", "EEE"), lambda t: DAYS[t.weekday()][:3]),
    "EEEE": lambda t: DAYS[t.weekday()],
    **{
        length * letter: write
        for letter in "Qq"
        for length, write in enumerate(
            (
                lambda t: str(_quarter(t)),
                lambda t: f"0{_quarter(t)}",
                lambda t: f"Q{_quarter(t)}",
                lambda t: f"{_ORDINALS[_quarter(t) - 1]} quarter",
            ),
            1,
        )
    },
}
_OF_SECONDS: dict[str, Write] = {
    **_number("H", lambda t: t.hour),
    **_number("k", lambda t: t.hour or 24),
    **_number("h", lambda t: t.hour % 12 or 12),
    **_number("K", lambda t: t.hour % 12),
    **_number("m", lambda t: t.minute),
    **_number("s", lambda t: t.second),
    "a": lambda t: "AM" if t.hour < 12 else "PM",
}
_OF_FRACTIONS: dict[str, Write] = {digits * "S": partial(_fraction, 0, digits) for digits in range(1, 10)}
_OF_ZONES: dict[str, Write] = {
    **{digits * "X": lambda t: "Z" for digits in range(1, 6)},
    "x": lambda t: "+00",
    **dict.fromkeys(("xx", "xxxx", "Z", "ZZ", "ZZZ"), lambda t: "+0000"),
    **dict.fromkeys(("xxx", "xxxxx"), lambda t: "+00:00"),
    "ZZZZZ": lambda t: "Z",
    **dict.fromkeys(("O", "OOOO", "ZZZZ"), lambda t: "GMT"),
    "zzzz": lambda t: "Coordinated Universal Time",
    **dict.fromkeys(("z", "zz", "zzz", "VV"), lambda t: "UTC"),
}
_WRITTEN = {**_OF_DAYS, **_OF_SECONDS, **_OF_FRACTIONS, **_OF_ZONES, "[": _nothing, "]": _nothing}
_OFFSETS = (r"\d{2}(?:\d{2})?", r"\d{4}", r"\d{2}:\d{2}", r"\d{4}(?:\d{2})?", r"\d{2}:\d{2}(?::\d{2})?")
"""Offsets from UTC by how many letters the pattern has."""
_FIELDS = {"d": "day", "H": "hour", "k": "late", "h": "clock", "K": "noon", "m": "minute", "s": "second"}
_READ = {
    **dict.fromkeys(("G", "GG", "GGG"), "AD"),
    "GGGG": "Anno Domini",
    "D": r"(?P<ordinal>\d{1,3})",
    "DD": r"(?P<ordinal>\d{2,3})",
    "DDD": r"(?P<ordinal>\d{3})",
    "yyyy": r"(?P<year>\d{4})",
    **{digits * "y": rf"(?P<year>\d{{{digits},9}})" for digits in (1, 3, 5, 6)},
    "yy": r"(?P<short>\d{2})",
    **{2 * letter: r"(?P<month>\d{2})" for letter in "ML"},
    **dict.fromkeys("ML", r"(?P<month>\d{1,2})"),
    **{3 * letter: f"(?P<name>{'|'.join(month[:3] for month in MONTHS)})" for letter in "ML"},
    **{4 * letter: f"(?P<name>{'|'.join(MONTHS)})" for letter in "ML"},
    "a": r"(?P<half>AM|PM)",
    **{letter: rf"(?P<{name}>\d{{1,2}})" for letter, name in _FIELDS.items()},
    **{2 * letter: rf"(?P<{name}>\d{{2}})" for letter, name in _FIELDS.items()},
    **{digits * "S": rf"(?P<fraction>\d{{1,{digits}}})" for digits in range(1, 10)},
    **{digits * "X": rf"(?P<zone>Z|[+-]{offset})" for digits, offset in enumerate(_OFFSETS, 1)},
    **{digits * "x": rf"(?P<zone>[+-]{offset})" for digits, offset in enumerate(_OFFSETS, 1)},
    **dict.fromkeys(("Z", "ZZ", "ZZZ"), r"(?P<zone>[+-]\d{4})"),
    "ZZZZZ": rf"(?P<zone>Z|[+-]{_OFFSETS[-1]})",
    "O": r"(?P<zone>GMT(?:[+-]\d{1,2}(?::\d{2}(?::\d{2})?)?)?)",
    **dict.fromkeys(("OOOO", "ZZZZ"), rf"(?P<zone>GMT(?:[+-]{_OFFSETS[-1]})?)"),
    **dict.fromkeys(("z", "zz", "zzz"), r"(?P<zone>[A-Za-z][A-Za-z_/]*)"),
    "VV": rf"(?P<zone>[A-Za-z][\w+/:-]*|[+-]{_OFFSETS[-1]})",
    "[": "(?:",
    "]": ")?",
}
READABLE, WRITABLE = frozenset(_READ), frozenset(_WRITTEN)
"""The letters of patterns by which times are read, and those by which they are written; brackets are round options."""


@cache
def parts_of(pattern: str) -> tuple[tuple[str, bool], ...]:
    """Split a pattern into parts, and say which are letters."""
    result = _PATTERN.finditer(pattern)
    return tuple(
        (m[2], True) if m[2] else ((m[1] or "'").replace("''", "'") if m[4] is None else m[4], False) for m in result
    )


def written_time(time: datetime, pattern: str) -> str:
    """Format a time by a pattern."""
    return "".join(_WRITTEN[part](time) if letters else part for part, letters in parts_of(pattern))


def _columns_written(columns: Sequence[Any], count: int) -> Any:
    """Format many times, by combining cached texts of days and of clock fields."""
    times, patterns = columns
    if not count:
        return pa.array([], pa.string())
    days, clock = np.divmod(times.cast(pa.int64()).to_numpy(zero_copy_only=False), DAY)
    pieces = []
    for piece in _pieces(patterns[0].as_py()):
        if piece.size == DAY:
            distinct, which = np.unique(days, return_inverse=True)
            pieces.append(piece.texts(distinct.tolist()).take(pa.array(which)))
        else:
            pieces.append(piece.all.take(pa.array(clock // piece.size % piece.count)))
    return pc.binary_join_element_wise(*pieces, pa.scalar("")) if pieces else pa.array([""] * count)


@dataclass
class _Piece:
    """A part of a pattern that depends on one field: its unit in microseconds, and its number of values."""

    size: int
    count: int
    writers: list[Write]

    def texts(self, numbers: Iterable[int]) -> Any:
        """Return the texts for values of the field."""
        moments = (EPOCH + timedelta(microseconds=number * self.size) for number in numbers)
        return pa.array(["".join(write(moment) for write in self.writers) for moment in moments], pa.string())

    @cached_property
    def all(self) -> Any:
        """The texts for all values."""
        return self.texts(range(self.count))


_SIZES = {
    **dict.fromkeys(_OF_DAYS, (DAY, 0)),
    **{part: (60 * SECOND, 60) if part[0] == "m" else (SECOND, 60) for part in _OF_SECONDS if part[0] in "ms"},
    **{part: (3600 * SECOND, 24) for part in _OF_SECONDS if part[0] not in "ms"},
}
_MILLISECOND, _MICROSECOND = (1000, 1000), (1, 1000)


@cache
def _pieces(pattern: str) -> list[_Piece]:
    """Return the pieces of a pattern; constant text belongs to the piece before it."""
    result: list[_Piece] = []
    for field, write in _fields(pattern):
        if result and field in ((result[-1].size, result[-1].count), None):
            result[-1].writers.append(write)
        else:
            result.append(_Piece(*(field or (3600 * SECOND, 24)), [write]))
    return result


def _fields(pattern: str) -> Iterator[tuple[tuple[int, int] | None, Write]]:
    """Yield the parts of a pattern with the fields that decide them; of fractions the milliseconds and the rest."""
    for part, letters in parts_of(pattern):
        if not letters:
            yield None, partial(lambda text, time: text, part)
        elif part in _OF_FRACTIONS:
            yield _MILLISECOND, partial(_fraction, 0, min(len(part), 3))
            if len(part) > 3:
                yield _MICROSECOND, partial(_fraction, 3, len(part))
        else:
            yield _SIZES.get(part), _WRITTEN[part]


def open_brackets(pattern: str) -> int | None:
    """Return the number of optional brackets left open, which the end closes; None for a surplus closing bracket."""
    depth = 0
    for part, letters in parts_of(pattern):
        depth += (part == "[") - (part == "]") if letters else 0
        if depth < 0:
            return None
    return depth


@cache
def _reader(pattern: str) -> str:
    """Return the regular expression of a pattern; numbered group names allow a field to occur again in options."""
    pieces = [_READ[part] if letters else re.escape(part) for part, letters in parts_of(pattern)]
    text = "".join(piece.replace("(?P<", f"(?P<n{i}_") for i, piece in enumerate(pieces))
    return rf"(?i)\A{text}{')?' * (open_brackets(pattern) or 0)}\z"


def _columns_read(columns: Sequence[Any], count: int) -> Any:
    """Parse texts by a pattern; missing fields are those of 1970-01-01."""
    texts, patterns = columns
    times, there = read_times(texts, _reader(patterns[0].as_py())) if count else ([], None)
    return of_numbers(times, Type.TIMESTAMP, None if there is None else ~there)


def read_time(text: str, pattern: str) -> datetime | None:
    """Parse one text."""
    result: datetime | None = from_arrow(_columns_read([pa.array([text]), pa.array([pattern])], 1), Type.TIMESTAMP)[0]
    return result


FUNCTIONS |= {
    "date_format": Function(Type.STRING, columns=_columns_written),
    "read_time": Function(Type.TIMESTAMP, columns=_columns_read, partial=True),
}
