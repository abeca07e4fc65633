"""Formats of dates and times as Rust's chrono has them: `%Y-%m-%d`, `%T.%f`, `%a, %e %b %Y %H:%M:%S %z`.

<https://docs.rs/chrono/0.4.19/chrono/format/strftime/index.html>
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

MONTHS = ["January", "February", "March", "April", "May", "June"]
MONTHS += ["July", "August", "September", "October", "November", "December"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
SECOND = 1_000_000_000
"""The nanoseconds of a second."""

_LONG = {
    "D": "%m/%d/%y",
    "x": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "v": "%e-%b-%Y",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "r": "%I:%M:%S %p",
    "c": "%a %b %e %H:%M:%S %Y",
    "+": "%Y-%m-%dT%H:%M:%S%.f%:z",
    "h": "%b",
}
_TEXTS = {"t": "\t", "n": "\n", "%": "%"}
_ITEM = re.compile(r"%([-_0]?)(:{1,2}z|#z|\.[369]?f|[369]f|.)", re.DOTALL)


class FormatError(ValueError):
    """An invalid format, one with an unsupported field, or a text that does not match it."""


@dataclass(frozen=True)
class ParsedMoment:
    """A day, the nanoseconds since midnight, and how many seconds east of UTC that is; each may be unknown."""

    day: date | None = None
    nanoseconds: int | None = None
    east: int | None = None


def _items(format_: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a format: a filling and an item, or "" and a text without one. Raises FormatError."""
    place = 0
    for result in _ITEM.finditer(format_):
        if "%" in format_[place : result.start()]:
            break
        if result.start() > place:
            yield "text", format_[place : result.start()]
        place, (fill, item) = result.end(), result.groups()
        if item in _LONG and not fill:
            yield from _items(_LONG[item])
        elif item in _TEXTS:
            yield "text", _TEXTS[item]
        elif item in _NUMBERS or (not fill and (item in _WORDS or item in _READ)):
            yield fill, item
        else:
            raise FormatError("bad or unsupported format string")
    if "%" in format_[place:]:
        raise FormatError("bad or unsupported format string")
    if place < len(format_):
        yield "text", format_[place:]


# Writing

Number = Callable[[date, int], int]


def _weeks(day: date, first: int) -> int:
    """Return the number of a day's week in its year, where weeks begin with a day; before the first one it is 0."""
    return (day.timetuple().tm_yday + 6 - (day.weekday() - first) % 7) // 7


# For each item its filling, its width, and its number of a day and of seconds since midnight; whether it is of the day.
_NUMBERS: Mapping[str, tuple[str, int, bool, Number]] = {
    "Y": ("0", 4, True, lambda day, _: day.year),
    "C": ("0", 2, True, lambda day, _: day.year // 100),
    "y": ("0", 2, True, lambda day, _: day.year % 100),
    "m": ("0", 2, True, lambda day, _: day.month),
    "d": ("0", 2, True, lambda day, _: day.day),
    "e": ("_", 2, True, lambda day, _: day.day),
    "w": ("-", 1, True, lambda day, _: day.isoweekday() % 7),
    "u": ("-", 1, True, lambda day, _: day.isoweekday()),
    "U": ("0", 2, True, lambda day, _: _weeks(day, 6)),
    "W": ("0", 2, True, lambda day, _: _weeks(day, 0)),
    "G": ("0", 4, True, lambda day, _: day.isocalendar()[0]),
    "g": ("0", 2, True, lambda day, _: day.isocalendar()[0] % 100),
    "V": ("0", 2, True, lambda day, _: day.isocalendar()[1]),
    "j": ("0", 3, True, lambda day, _: day.timetuple().tm_yday),
    "H": ("0", 2, False, lambda _, now: now // 3600),
    "k": ("_", 2, False, lambda _, now: now // 3600),
    "I": ("0", 2, False, lambda _, now: (now // 3600 + 11) % 12 + 1),
    "l": ("_", 2, False, lambda _, now: (now // 3600 + 11) % 12 + 1),
    "M": ("0", 2, False, lambda _, now: now // 60 % 60),
    "S": ("0", 2, False, lambda _, now: now % 60),
}


def _offset(east: int, colon: str, *, with_seconds: bool = False) -> str:
    minutes, seconds = divmod(abs(east), 60)
    behind = f":{seconds:02}" if with_seconds and seconds else ""
    return f"{'-' if east < 0 else '+'}{minutes // 60:02}{colon}{minutes % 60:02}{behind}"


def _fraction(nanoseconds: int) -> str:
    """Return what follows the seconds, by thousands."""
    text = f".{nanoseconds % SECOND:09}"
    while text.endswith("000"):
        text = text[:-3]
    return text.rstrip(".")


def _digits(before: str, count: int) -> Callable[[ParsedMoment], str]:
    """Return a formatter of this many digits of the fraction of a second."""
    return lambda moment: before + f"{(moment.nanoseconds or 0) % SECOND:09}"[:count]


# For each item what it needs, and its text.
_WORDS: Mapping[str, tuple[str, Callable[[ParsedMoment], str]]] = {
    "b": ("day", lambda m: MONTHS[m.day.month - 1][:3] if m.day else ""),
    "B": ("day", lambda m: MONTHS[m.day.month - 1] if m.day else ""),
    "a": ("day", lambda m: DAYS[m.day.weekday()][:3] if m.day else ""),
    "A": ("day", lambda m: DAYS[m.day.weekday()] if m.day else ""),
    "p": ("time", lambda m: "PM" if (m.nanoseconds or 0) >= 12 * 3600 * SECOND else "AM"),
    "P": ("time", lambda m: "pm" if (m.nanoseconds or 0) >= 12 * 3600 * SECOND else "am"),
    "f": ("time", lambda m: f"{(m.nanoseconds or 0) % SECOND:09}"),
    ".f": ("time", lambda m: _fraction(m.nanoseconds or 0)),
    **{f"{dot}{digits}f": ("time", _digits(dot, digits)) for dot in ("", ".") for digits in (3, 6, 9)},
    "z": ("east", lambda m: _offset(m.east or 0, "")),
    ":z": ("east", lambda m: _offset(m.east or 0, ":")),
    "::z": ("east", lambda m: _offset(m.east or 0, ":", with_seconds=True)),
    "Z": ("east", lambda m: _offset(m.east or 0, ":")),
    "s": ("both", lambda m: str(seconds_of(m) - (m.east or 0))),
}


def seconds_of(moment: ParsedMoment) -> int:
    """Return the seconds from the beginning of 1970 to a moment, by the clock where it is."""
    assert moment.day is not None
    return (moment.day.toordinal() - 719163) * 86400 + (moment.nanoseconds or 0) // SECOND


def written(moment: ParsedMoment, format_: str) -> str:
    """Return a moment in a format. Raises FormatError."""
    parts: list[str] = []
    known = {"day": moment.day is not None, "time": moment.nanoseconds is not None, "east": moment.east is not None}
    known["both"] = known["day"] and known["time"]
    for fill, item in _items(format_):
        if fill == "text":
            parts.append(item)
        elif item in _NUMBERS:
            usual, width, of_day, number = _NUMBERS[item]
            if not known["day" if of_day else "time"]:
                raise FormatError(f"there is no %{item} in it")
            result = number(moment.day or date.min, (moment.nanoseconds or 0) // SECOND)
            padding = {"-": "", "_": " ", "0": "0"}[fill or usual]
            parts.append(str(result).rjust(width, padding) if padding else str(result))
        elif item in _WORDS and known[_WORDS[item][0]]:
            parts.append(_WORDS[item][1](moment))
        else:
            raise FormatError(f"there is no %{item} in it")
    return "".join(parts)


# Reading


@dataclass
class _Found:
    """The fields of a text, by the letters of the format's items."""

    rest: str
    values: dict[str, int] = field(default_factory=dict)

    def digits(self, item: str, most: int, *, signed: bool = False) -> None:
        self.rest = self.rest.lstrip()
        result = re.match(rf"[+-]\d+|\d{{1,{most}}}" if signed else rf"\d{{1,{most}}}", self.rest)
        if not result:
            raise FormatError("input contains invalid characters" if self.rest else "premature end of input")
        self.set(item, int(result[0]), result.end())

    def name(self, item: str, names: list[str], *, long: bool = True) -> None:
        for place, name in enumerate(names):
            for spelled in (name, name[:3])[not long :]:
                if self.rest.lower().startswith(spelled.lower()):
                    self.set(item, place, len(spelled))
                    return
        raise FormatError("input contains invalid characters" if self.rest else "premature end of input")

    def set(self, item: str, value: int, length: int) -> None:
        if self.values.setdefault(item, value) != value:
            raise FormatError("no possible date and time matching input")
        self.rest = self.rest[length:]

    def text(self, wanted: str) -> None:
        for part in re.findall(r"\s+|\S+", wanted):
            if part.isspace():
                self.rest = self.rest.lstrip()
            elif self.rest.startswith(part):
                self.rest = self.rest[len(part) :]
            else:
                raise FormatError("premature end of input" if part.startswith(self.rest) else _INVALID)

    def fraction(self, item: str) -> None:
        if item == ".f" and not self.rest.startswith("."):
            return
        wanted = rf"\.?(\d{{{item[-2]}}})" if item[-2].isdigit() else r"\.(\d+)"
        result = re.match(wanted, self.rest)
        if not result:
            raise FormatError(_INVALID)
        self.set("f", int(result[1][:9].ljust(9, "0")), result.end())

    def offset(self) -> None:
        result = re.match(r"([+-])(\d\d):?(\d\d)?(?::(\d\d))?|[zZ]", self.rest)
        if not result:
            raise FormatError(_INVALID if self.rest else "premature end of input")
        east = (int(result[2] or 0) * 60 + int(result[3] or 0)) * 60 + int(result[4] or 0)
        if east >= 86400:
            raise FormatError("input is out of range")
        self.set("z", -east if result[1] == "-" else east, result.end())


def _fraction_of(item: str) -> Callable[[_Found], None]:
    return lambda result: result.fraction(item)


_INVALID = "input contains invalid characters"
_READ: Mapping[str, Callable[[_Found], None]] = {
    "b": lambda found: found.name("m0", MONTHS, long=False),
    "B": lambda found: found.name("m0", MONTHS),
    "a": lambda found: found.name("a", DAYS, long=False),
    "A": lambda found: found.name("a", DAYS),
    "p": lambda found: found.name("p", ["AM", "PM"]),
    "P": lambda found: found.name("p", ["AM", "PM"]),
    "f": lambda found: found.digits("f", 9),
    "s": lambda found: found.digits("s", 18, signed=True),
    "Z": lambda found: found.text("".join(found.rest.split(maxsplit=1)[:1])),
    **dict.fromkeys(("z", ":z", "::z", "#z"), _Found.offset),
    **{item: _fraction_of(item) for item in _WORDS if item[-1] == "f" and item != "f"},
}


def read(text: str, format_: str) -> ParsedMoment:
    """Return the moment that a text gives in a format. Raises FormatError."""
    result = _Found(text)
    for fill, item in _items(format_):
        if fill == "text":
            result.text(item)
        elif item in _READ:
            _READ[item](result)
        else:
            result.digits({"e": "d", "k": "H", "l": "I"}.get(item, item), _NUMBERS[item][1], signed=item in "YG")
    if result.rest:
        raise FormatError("trailing input")
    values = result.values
    if "m0" in values:
        result.set("m", values["m0"] + 1, 0)
    if "s" in values:
        return moment_of(values["s"] + values.get("z", 0), values.get("f", 0), values.get("z"))
    try:
        day = _day(values)
    except ValueError:
        raise FormatError("input is out of range") from None
    weekday = day.weekday() if day else 0
    if day and (weekday, weekday + 1) != (values.get("a", weekday), values.get("u", weekday + 1)):
        raise FormatError("no possible date and time matching input")
    return ParsedMoment(day, _nanoseconds(values), values.get("z"))


def moment_of(seconds: int, nanoseconds: int, east: int | None) -> ParsedMoment:
    """Return the moment of these seconds since the beginning of 1970, in years 1 to 9999. Raises FormatError."""
    try:
        day = date(1970, 1, 1) + timedelta(days=seconds // 86400)
    except OverflowError:
        raise FormatError("input is out of range") from None
    return ParsedMoment(day, seconds % 86400 * SECOND + nanoseconds, east)


def day_of_year(year: int, ordinal: int) -> date:
    """Return the day of a year, from 1 on. Raises ValueError."""
    result = date(year, 1, 1) + timedelta(days=ordinal - 1)
    if result.year != year:
        raise ValueError
    return result


def _day(values: Mapping[str, int]) -> date | None:
    year = values.get("Y")
    if year is None and "y" in values:
        century = values.get("C", 20 if values["y"] < 70 else 19)
        year = century * 100 + values["y"]
    if year is not None and "m" in values and "d" in values:
        return date(year, values["m"], values["d"])
    if year is not None and "j" in values:
        return day_of_year(year, values["j"])
    weekday = values.get("a", values["u"] - 1 if "u" in values else None)
    if "G" in values and "V" in values and weekday is not None:
        return date.fromisocalendar(values["G"], values["V"], weekday + 1)
    return None


def _nanoseconds(values: Mapping[str, int]) -> int | None:
    hour = values.get("H")
    if hour is None and "I" in values and "p" in values:
        hour = values["I"] % 12 + 12 * values["p"]
    if hour is None or "M" not in values:
        return None
    minute, second = values["M"], values.get("S", 0)
    if hour > 23 or minute > 59 or second > 59:
        raise FormatError("input is out of range")
    return ((hour * 60 + minute) * 60 + second) * SECOND + values.get("f", 0)
