"""Conversions of single values as Spark casts them in ANSI mode, its session in UTC; None where Spark has no value.

Texts may stand between blanks. Instants are seconds since 1970 as numbers. Floats are written as Java writes them.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import partial
from typing import Any

from deltic.functions.intervals import written
from deltic.functions.zones import zone_of
from deltic.values.numbers import convert_number, round_float, to_decimal
from deltic.values.types import Kind, Type

Conversion = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BLANKS = "".join(map(chr, range(33)))
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_NAMED = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}
_DATE = r"(?P<year>[0-9]{4,7})(-(?P<month>[0-9]{1,2})(-(?P<day>[0-9]{1,2})"
_DATE_ALONE = re.compile(_DATE + r"([ T].*)?)?)?", re.ASCII | re.DOTALL)
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})(:(?P<second>[0-9]{1,2})([.](?P<fraction>[0-9]*))?)?"
_ZONE = (
    r" *(?P<zone>Z|UTC|GMT|(UTC|GMT)?(?P<sign>[+-])(?P<hours>[0-9]{1,2})(:?(?P<minutes>[0-9]{1,2}))?|[A-Za-z][\w+/-]+)?"
)
_TIME = re.compile(_DATE + rf"([ T]({_CLOCK}{_ZONE})?)?)?)?", re.ASCII)


def converter(source: Type, target: Type) -> Conversion:
    """The conversion of values of one type to the other, of which there must be one, see `has_conversion`."""
    if source is target:
        return lambda value: value
    if target is Type.STRING:
        return _writer(source)
    if source is Type.STRING:
        return _reader(target)
    if source.is_composite:
        return _of_parts(source, target)
    if target is Type.BOOLEAN:
        return bool if source.kind is not Kind.TIMESTAMP else lambda value: value != _EPOCH
    if source is Type.BOOLEAN:
        source, value_of = Type.INT64, int
        convert = converter(source, target)
        return lambda value: convert(value_of(value))
    if Kind.TIMESTAMP in (source.kind, target.kind) and (source.is_numeric or target.is_numeric):
        return _seconds(target) if source is Type.TIMESTAMP else _instant(source)
    if source.is_numeric:
        return _number(source, target)
    return _time(target)


def _number(source: Type, target: Type) -> Conversion:
    if source.is_float and target.is_integer:
        least, most = target.range
        return lambda value: _whole(value, least, most)
    if target.is_integer:
        low, high = target.range
        return lambda value: int(value) if low <= int(value) <= high else None
    return lambda value: convert_number(value, source, target)


def _whole(value: float, least: int, most: int) -> int | None:
    """A float without its fraction."""
    return int(value) if math.isfinite(value) and least <= int(value) <= most else None


def _seconds(target: Type) -> Conversion:
    """An instant as a number of seconds."""
    if target.is_integer:
        narrow = converter(Type.INT64, target)
        return lambda value: narrow((value - _EPOCH) // timedelta(seconds=1))
    if target.is_float:
        return lambda value: round_float((value - _EPOCH) / timedelta(seconds=1), target)
    return lambda value: to_decimal(Decimal((value - _EPOCH) // timedelta(microseconds=1)).scaleb(-6), target)


def _instant(source: Type) -> Conversion:
    """A number of seconds as an instant."""

    def convert(value: Any) -> datetime | None:
        if source.is_float and not math.isfinite(value):
            return None
        try:
            return _EPOCH + timedelta(microseconds=int(value * 1_000_000))
        except OverflowError:
            return None

    return convert


def _time(target: Type) -> Conversion:
    """Dates, instants and wall clocks as one another."""
    if target is Type.DATE:
        return lambda value: value.date()
    zone = UTC if target is Type.TIMESTAMP else None
    return lambda value: (
        value.replace(tzinfo=zone) if isinstance(value, datetime) else datetime.combine(value, time(), zone)
    )


def _of_parts(source: Type, target: Type) -> Conversion:
    """Composite values, part by part; None where a part that is not NULL has no value."""
    if source.kind is Kind.STRUCT:
        parts = [_nullable(a.type, b.type) for a, b in zip(source.fields, target.fields, strict=True)]
        return lambda value: _all(convert(item) for convert, item in zip(parts, value, strict=True))
    if source.kind is Kind.ARRAY:
        convert = _nullable(source.element.type, target.element.type)
        return lambda value: _all(convert(item) for item in value)
    key, item = _nullable(source.key, target.key), _nullable(source.value.type, target.value.type)
    return lambda value: _pairs(_all(part for k, v in value for part in (key(k), item(v))))


def _pairs(parts: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Keys and values, which stand in turn, as the pairs of a map."""
    return None if parts is None else tuple(zip(parts[::2], parts[1::2], strict=True))


_UNDEFINED = object()


def _nullable(source: Type, target: Type) -> Conversion:
    """The conversion of what may be NULL."""
    convert = converter(source, target)

    def apply(value: Any) -> Any:
        found = None if value is None else convert(value)
        return _UNDEFINED if found is None and value is not None else found

    return apply


def _all(parts: Any) -> tuple[Any, ...] | None:
    found = tuple(parts)
    return None if any(part is _UNDEFINED for part in found) else found


# From texts


def _reader(target: Type) -> Conversion:
    """What a text says, as a value of another type."""
    read = _READERS.get(target.kind)
    if read is not None:
        return lambda text: read(text.strip(_BLANKS))
    if target is Type.BINARY:
        return lambda text: text.encode()
    if target.is_integer:
        least, most = target.range
        return lambda text: _read_integer(text.strip(_BLANKS), least, most)
    if target.is_float:
        return lambda text: _read_float(text.strip(_BLANKS), target)
    return lambda text: _read_decimal(text.strip(_BLANKS), target)


def _read_integer(text: str, least: int, most: int) -> int | None:
    value = int(text) if _INTEGER.fullmatch(text) else None
    return value if value is not None and least <= value <= most else None


def _read_float(text: str, target: Type) -> float | None:
    sign = -1.0 if text.startswith("-") else 1.0
    if (named := _NAMED.get(text.lstrip("+-").lower())) is not None:
        return sign * named if named == math.inf or text[0] not in "+-" else None
    plain = text[:-1] if text[-1:] in ("d", "D", "f", "F") else text
    return round_float(float(plain), target) if _FLOAT.fullmatch(plain) else None


def _read_decimal(text: str, target: Type) -> Decimal | None:
    return to_decimal(Decimal(text), target) if _FLOAT.fullmatch(text) else None


def _read_boolean(text: str) -> bool | None:
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _read_date(text: str) -> date | None:
    found = _DATE_ALONE.fullmatch(text)
    try:
        return found and date(*(int(found[part] or 1) for part in ("year", "month", "day")))
    except ValueError:
        return None


def _read_instant(text: str) -> datetime | None:
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    try:
        day = date(*(int(found[part] or 1) for part in ("year", "month", "day")))
        hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
        microsecond = int((found["fraction"] or "")[:6].ljust(6, "0"))
        return datetime.combine(day, time(hour, minute, second, microsecond, _zone(found))).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(found: re.Match[str]) -> tzinfo:
    """The zone that a text names; ValueError for none, and beyond 18 hours from UTC."""
    if not found["sign"]:
        zone = zone_of(found["zone"] or "UTC")
        if zone is None:
            raise ValueError("there is no such zone")
        return zone
    offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"] or 0))
    if offset > timedelta(hours=18):
        raise ValueError("a zone is at most 18 hours from UTC")
    return timezone(-offset if found["sign"] == "-" else offset)


def _read_clock(text: str) -> datetime | None:
    """What a wall clock shows; a zone in the text is passed over."""
    found = _TIME.fullmatch(text)
    instant = _read_instant(text if found is None or not found["zone"] else text[: found.start("zone")].rstrip())
    return instant and instant.replace(tzinfo=None)


_READERS: dict[Kind, Callable[[str], Any]] = {
    Kind.BOOLEAN: _read_boolean,
    Kind.DATE: _read_date,
    Kind.TIMESTAMP: _read_instant,
    Kind.TIMESTAMP_NTZ: _read_clock,
}

# To texts


def _writer(source: Type) -> Conversion:
    """A value as text."""
    if source.is_float:
        return lambda value: _write_float(value, source)
    if source is Type.BINARY:
        return _decoded
    if source.kind is Kind.ARRAY:
        element = _part_writer(source.element.type)
        return lambda value: "[" + ", ".join(map(element, value)) + "]"
    if source.kind is Kind.STRUCT:
        fields = [_part_writer(column.type) for column in source.fields]
        return lambda value: "{" + ", ".join(w(item) for w, item in zip(fields, value, strict=True)) + "}"
    if source.kind is Kind.MAP:
        key, item = _part_writer(source.key), _part_writer(source.value.type)
        return lambda value: "{" + ", ".join(f"{key(k)} -> {item(v)}" for k, v in value) + "}"
    return _WRITERS.get(source.kind, str)


def _part_writer(type_: Type) -> Callable[[Any], str]:
    write = converter(type_, Type.STRING)
    return lambda value: "null" if value is None else write(value)


def _write_float(value: float, type_: Type) -> str:
    """The shortest text that is read as the same float, as Java lays it out: 1.0E10, not 10000000000.0."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(shortest(value, type_)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    power = len(text) + exponent - 1
    minus = "-" * sign
    if not value:
        return f"{minus}0.0"
    if -3 <= power < 7:
        whole, fraction = (text[: power + 1].ljust(power + 1, "0"), text[power + 1 :]) if power >= 0 else ("0", "")
        return f"{minus}{whole}.{fraction or '0'}" if power >= 0 else f"{minus}0.{'0' * (-power - 1)}{text}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{power}"


def shortest(value: float, type_: Type) -> str:
    """The shortest text that is read as the same float of the type, as Java finds it."""
    if type_ is Type.FLOAT64:
        text = repr(value)
        near = f"{value:.1e}"  # of texts of one and two digits Java takes the one that is nearer
        return near if len(text) < 7 and float(near) == value else text
    packed = struct.pack("f", value)
    return next(text for digits in range(2, 10) if struct.pack("f", float(text := f"{value:.{digits}g}")) == packed)


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _write_clock(value: datetime) -> str:
    fraction = f".{value.microsecond:06}".rstrip("0") if value.microsecond else ""
    return f"{value.year:04}{value:-%m-%d %H:%M:%S}{fraction}"


_WRITERS: dict[Kind, Callable[[Any], str]] = {
    Kind.BOOLEAN: lambda value: "true" if value else "false",
    Kind.DECIMAL: lambda value: f"{value:f}",
    Kind.DATE: lambda value: value.isoformat(),
    Kind.TIMESTAMP: _write_clock,
    Kind.TIMESTAMP_NTZ: _write_clock,
    Kind.YEAR_MONTH_INTERVAL: partial(written, first="YEAR", last="MONTH"),
    Kind.DAY_TIME_INTERVAL: partial(written, first="DAY", last="SECOND"),
}
