"""Spark's casts of columns in ANSI mode and UTC: NULL where Spark has no value.

Texts may have blanks around them. Instants as numbers are seconds since 1970. Floats are written as in Java.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from deltic.functions.calendar import DAY, EPOCH, FIRST, LAST, SECOND
from deltic.functions.intervals import written
from deltic.functions.patterns import read_times
from deltic.lazy import np, pa, pc
from deltic.values import from_arrow, to_arrow
from deltic.values.numbers import convert_number, round_float, to_decimal
from deltic.values.text import of_exact_text
from deltic.values.types import Kind, Type

if TYPE_CHECKING:
    from deltic.functions.calendar import Numbers

Conversion = Callable[[Any], Any]

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
_BLANKS = "".join(map(chr, range(33)))
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
FLOAT_TEXT = "[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"
"""How a text is written that is a number with a fraction."""
_FLOAT = re.compile(FLOAT_TEXT)
_NAMED = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}
# What Arrow extracts groups by, which all have names.
_DATE = r"[+]?(?P<year>[0-9]{4,7})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})"
_CLOCK = r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?:[.](?P<fraction>[0-9]*))?)?"
_ZONE = r" *(?P<zone>Z|[A-Za-z][\w+/:-]+|[+-][0-9:]+)?"
_OF_DATE = rf"(?s)\A{_DATE}(?:[ T].*)?)?)?\z"
_OF_CLOCK = re.compile(r"T?([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:[.]([0-9]*))?)?", re.ASCII)
_OF_TIME = rf"\A{_DATE}(?:[ T]{_CLOCK}{_ZONE})?)?)?)?\z"


def converted(column: pa.Array | pa.ChunkedArray, source: Type, target: Type, by_part: bool = False) -> pa.Array:
    """Cast a column to a type, see `has_conversion`.

    A composite value is NULL where a part has no value; with `by_part` only that part is.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.null_count:
        return _spread(converted(column.drop_null(), source, target, by_part), column.is_valid())
    if (convert := _of_one(source, target)) is not None:
        return to_arrow(map(convert, from_arrow(column, source)), target)
    made = _of_parts(column, source, target, by_part) if target.is_composite else _of_column(column, source, target)
    return made.cast(target.arrow)


@cache
def converter(source: Type, target: Type, by_part: bool = False) -> Conversion:
    """Return the cast of a single value."""
    if source.is_integer and target is Type.STRING:  # recursions ask for one at a time
        return str
    if (convert := _of_one(source, target)) is not None:
        return convert

    def in_column(value: Any) -> Any:
        return from_arrow(converted(to_arrow([value], source), source, target, by_part), target)[0]

    if source is Type.STRING and target.kind in _TIMES:
        zone = "+00:00" if target is Type.TIMESTAMP else ""
        return lambda text: in_column(text) if (exact := of_exact_text(text + zone, target)) is None else exact
    return in_column


def _spread(found: pa.Array, places: Any) -> pa.Array:
    """Spread values over the positions where a mask is true, NULL at the others."""
    there = np.asarray(places)
    return found.take(pa.array(np.cumsum(there) - 1, mask=~there))


def _of_one(source: Type, target: Type) -> Conversion | None:
    """Return the cast for single values; None where whole columns are cast."""
    if source is target:
        return lambda value: value
    if source is Type.STRING:
        return _reader(target)
    if target is Type.STRING:
        return _writer(source)
    if target.kind is Kind.DECIMAL and source is Type.TIMESTAMP:
        return lambda value: to_decimal(Decimal((value - EPOCH) // timedelta.resolution).scaleb(-6), target)
    if source.kind is Kind.DECIMAL and target is Type.TIMESTAMP:
        return _instant
    if source.kind is Kind.DECIMAL and target is Type.BOOLEAN:
        return bool
    return _number(source, target) if source.is_numeric and target.is_numeric else None


def _number(source: Type, target: Type) -> Conversion | None:
    if not target.is_integer:
        return lambda value: convert_number(value, source, target)
    low, high = target.range
    return None if source.is_float else lambda value: int(value) if low <= int(value) <= high else None


def _instant(seconds: Decimal) -> datetime | None:
    try:
        return EPOCH + timedelta(microseconds=int(seconds * SECOND))
    except OverflowError:
        return None


def _of_column(column: pa.Array, source: Type, target: Type) -> pa.Array:
    if target is Type.STRING:
        return _texts(column, source)
    if source is Type.STRING:
        return _times(pc.utf8_trim(column, _BLANKS), target)
    if source is Type.BOOLEAN:
        return converted(column.cast(pa.int64()), Type.INT64, target)
    if source.kind in _TIMES and target.kind in _TIMES:
        return column.cast(pa.timestamp("us"))
    numbers = (column.cast(pa.int64()) if source is Type.TIMESTAMP else column).to_numpy(zero_copy_only=False)
    if target is Type.BOOLEAN:
        return pa.array(numbers != 0)
    if target is Type.TIMESTAMP:
        return _instants(numbers)
    return _whole(numbers, target) if source.is_float else _seconds(numbers, target)


def _whole(floats: Any, target: Type) -> pa.Array:
    """Truncate floats."""
    least, most = target.range
    result = np.trunc(floats)
    return _where((result >= least) & (result < most + 1), result, target)


def _where(there: Any, values: Any, target: Type) -> pa.Array:
    """Convert numbers to a type, NULL where out of range."""
    return pa.array(np.where(there, values, 0).astype(np.int64), mask=~there).cast(target.arrow)


def _seconds(instants: Numbers, target: Type) -> pa.Array:
    """Instants as numbers of seconds."""
    if target.is_float:
        return pa.array(instants / SECOND).cast(target.arrow)
    least, most = target.range
    seconds = instants // SECOND
    return _where((seconds >= least) & (seconds <= most), seconds, target)


def _instants(seconds: Any) -> pa.Array:
    """Numbers of seconds as instants."""
    if seconds.dtype.kind == "f":
        with np.errstate(all="ignore"):
            result = np.trunc(seconds.astype(np.float64) * SECOND)
        return _where((result >= FIRST) & (result <= LAST), result, Type.TIMESTAMP)
    there = (seconds >= FIRST // SECOND) & (seconds <= LAST // SECOND)
    return _where(there, np.where(there, seconds, 0).astype(np.int64) * SECOND, Type.TIMESTAMP)


# Arrays, structs and maps


def lists_of(column: pa.Array | pa.ChunkedArray, part: str) -> pa.ListArray:
    """Arrays without NULL, or the `keys` or `items` of maps, as lists whose offsets start at 0."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    offsets, start = column.offsets, column.offsets[0]
    length = pc.subtract(offsets[-1], start).as_py()
    return pa.ListArray.from_arrays(pc.subtract(offsets, start), getattr(column, part).slice(start.as_py(), length))


_FIRST_PART = {Kind.ARRAY: "values", Kind.MAP: "keys"}


def _parts(column: pa.Array, type_: Type) -> tuple[Sequence[pa.Array], Sequence[Type]]:
    """Return the parts of composite values as columns, and their types."""
    match type_.kind:
        case Kind.STRUCT:
            return column.flatten(), [field.type for field in type_.fields]
        case Kind.ARRAY:
            return [lists_of(column, "values").values], [type_.element.type]
    return [lists_of(column, part).values for part in ("keys", "items")], [type_.key, type_.value.type]


def _of_parts(column: pa.Array, source: Type, target: Type, by_part: bool) -> pa.Array:
    """Cast composite values part by part; keys of maps must have a value."""
    (parts, types), (_, targets) = _parts(column, source), _parts(column, target)
    result = [converted(*part, by_part) for part in zip(parts, types, targets, strict=True)]
    needed = len(parts) if not by_part else 1 if source.kind is Kind.MAP else 0
    pairs = zip(result[:needed], parts, strict=False)
    lost = np.logical_or.reduce([np.asarray(a.is_null()) & np.asarray(b.is_valid()) for a, b in pairs])
    offsets = None if source.kind is Kind.STRUCT else lists_of(column, _FIRST_PART[source.kind]).offsets
    if lost.any():
        rows = lost if offsets is None else np.diff(np.concatenate([[0], np.cumsum(lost)])[offsets.to_numpy()]) > 0
        return _spread(_of_parts(column.filter(pa.array(~rows)), source, target, by_part), ~rows)
    if offsets is None:
        return pa.StructArray.from_arrays(result, fields=list(target.arrow))
    made = pa.ListArray if source.kind is Kind.ARRAY else pa.MapArray
    return made.from_arrays(offsets, *result, type=target.arrow)


# From texts


def _reader(target: Type) -> Conversion | None:
    """Return the parser of texts for a type."""
    if target.kind in _TIMES:
        return None
    if target is Type.BINARY:
        return str.encode
    if target is Type.TIME:
        return _read_clock
    if target is Type.BOOLEAN:
        return _read_boolean
    if target.is_integer:
        return partial(_read_integer, *target.range)
    return partial(_read_float if target.is_float else _read_decimal, target)


def _read_clock(text: str) -> time | None:
    """Return a time of a day as Spark reads it: hours and minutes, maybe seconds and a fraction."""
    found = _OF_CLOCK.fullmatch(text.strip(_BLANKS))
    hour, minute, second, fraction = found.groups(default="0") if found else ("24", "0", "0", "0")
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    return time(int(hour), int(minute), int(second), int(f"{fraction:0<6}"[:6]))


def _write_clock(value: time) -> str:
    return str(value).rstrip("0").rstrip(".") if value.microsecond else str(value)


def _read_integer(least: int, most: int, text: str) -> int | None:
    value = int(text) if _INTEGER.fullmatch(text := text.strip(_BLANKS)) else None
    return value if value is not None and least <= value <= most else None


def _read_float(target: Type, text: str) -> float | None:
    text = text.strip(_BLANKS)
    sign = -1.0 if text.startswith("-") else 1.0
    if (named := _NAMED.get(text.lstrip("+-").lower())) is not None:
        return sign * named if named == math.inf or text[0] not in "+-" else None
    plain = text[:-1] if text[-1:] in ("d", "D", "f", "F") else text
    return round_float(float(plain), target) if _FLOAT.fullmatch(plain) else None


def _read_decimal(target: Type, text: str) -> Decimal | None:
    return to_decimal(Decimal(text), target) if _FLOAT.fullmatch(text := text.strip(_BLANKS)) else None


def _read_boolean(text: str) -> bool | None:
    word = text.strip(_BLANKS).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _times(texts: pa.Array, target: Type) -> pa.Array:
    """Parse dates, timestamps or local timestamps; a zone does not shift the latter."""
    if target is Type.DATE:
        times, there = read_times(texts, _OF_DATE)
        return _where(there, times // DAY, Type.INT32)
    times, there = read_times(texts, _OF_TIME, in_zone=target is Type.TIMESTAMP)
    return _where(there, times, target)


# To texts


def _writer(source: Type) -> Conversion | None:
    """Return the formatter of a type's values."""
    if source.is_float:
        return partial(_write_float, type_=source)
    return _WRITERS.get(source.kind)


def _texts(column: pa.Array, source: Type) -> pa.Array:
    """Format values as texts, including composite ones."""
    if source.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return pc.utf8_rtrim(pc.utf8_rtrim(column.cast(pa.timestamp("us")).cast(pa.string()), "0"), ".")
    if not source.is_composite:
        return column.cast(pa.string())
    parts = [converted(*part, Type.STRING).fill_null("null") for part in zip(*_parts(column, source), strict=True)]
    if source.kind is Kind.STRUCT:
        return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*parts, ", "), "}", "")
    lists = pa.ListArray.from_arrays(
        lists_of(column, _FIRST_PART[source.kind]).offsets, pc.binary_join_element_wise(*parts, " -> ")
    )
    begin, end = "{}" if source.kind is Kind.MAP else "[]"
    return pc.binary_join_element_wise(begin, pc.binary_join(lists, ", "), end, "")


def _write_float(value: float, type_: Type) -> str:
    """Return the shortest text that parses to the same float, in Java's layout: 1.0E10, not 10000000000.0."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if type_ is Type.FLOAT64 and 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(shortest(value, type_)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    power = len(text) + exponent - 1
    minus = "-" * sign
    if not value:
        return f"{minus}0.0"
    if 0 <= power < 7:
        return f"{minus}{text[: power + 1].ljust(power + 1, '0')}.{text[power + 1 :] or '0'}"
    return f"{minus}0.{'0' * (-power - 1)}{text}" if -3 <= power < 0 else f"{minus}{text[0]}.{text[1:] or '0'}E{power}"


def shortest(value: float, type_: Type) -> str:
    """Return the shortest digits that parse to the same float of the type, as Java finds them."""
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


_WRITERS: dict[Kind, Conversion] = {
    Kind.BINARY: _decoded,
    Kind.DECIMAL: "{:f}".format,
    Kind.TIME: _write_clock,
    Kind.YEAR_MONTH_INTERVAL: partial(written, first="YEAR", last="MONTH"),
    Kind.DAY_TIME_INTERVAL: partial(written, first="DAY", last="SECOND"),
}
