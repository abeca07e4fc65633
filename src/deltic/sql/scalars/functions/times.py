"""Rules of functions of dates and times. The session's time zone is UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial

from sqlglot import exp

from deltic.circuit.expressions import is_literal
from deltic.functions.calendar import EPOCH
from deltic.functions.intervals import between
from deltic.functions.patterns import READABLE, WRITABLE, open_brackets, parts_of
from deltic.functions.times import IN_MONTHS, SPANS
from deltic.sql.scalars import conditions, operators
from deltic.sql.scalars.coercion import as_signed, coerced, converted, of_finite
from deltic.sql.scalars.functions.collections import field
from deltic.sql.scalars.functions.definitions import kind
from deltic.sql.scalars.functions.rules import apply, attempt, brought, literal_of, plain, rule, to
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import NULL, Fields, Typed, attempted, constant, folded
from deltic.values.types import Kind, Type

TEXT, INT, LONG = Type.STRING, Type.INT32, Type.INT64
DATE, TIMESTAMP, NTZ = Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ
_OF_DATES = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    **{unit: unit for unit in ("quarter", "week")},
}
_OF_TIMES = _OF_DATES | {
    **{unit: unit for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond")},
    "dd": "day",
}
"""Units in which dates and times are truncated, by their names in Spark."""
_FIELDS = {
    **dict.fromkeys(("year", "y", "years", "yr", "yrs"), "year"),
    **dict.fromkeys(("yearofweek",), "yearofweek"),
    **dict.fromkeys(("quarter", "qtr"), "quarter"),
    **dict.fromkeys(("month", "mon", "mons", "months"), "month"),
    **dict.fromkeys(("week", "w", "weeks"), "weekofyear"),
    **dict.fromkeys(("day", "d", "days"), "day"),
    **dict.fromkeys(("dayofweek", "dow"), "dayofweek"),
    **dict.fromkeys(("dayofweek_iso", "dow_iso"), "dayofweek_iso"),
    **dict.fromkeys(("doy",), "dayofyear"),
    **dict.fromkeys(("hour", "h", "hours", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "m", "min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("second", "s", "sec", "seconds", "secs"), "seconds"),
}

_OF_INTERVALS = {
    Type.YEAR_MONTH_INTERVAL: ("year", "month"),
    Type.DAY_TIME_INTERVAL: ("day", "hour", "minute", "seconds"),
}

rule("date_part", "datepart", of="year month day hour minute seconds quarter dayofyear weekofyear")(
    lambda field, value: extract(literal_of(field, "the field", sample="second"), value)
)


def extract(field: str, value: Typed) -> Typed:
    """Return a field of a date or time."""
    name = _FIELDS.get(field.lower())
    if (fields := _OF_INTERVALS.get(value.type.type)) is not None:
        known = between(*(value.fields or operators.ALL_FIELDS[value.type.type]))
        own = [part for part in fields if part.removesuffix("s").upper() in known]
        if name not in own:
            raise Mismatch(f"the fields of this interval are {', '.join(own)}")
        return attempt(f"{name.removesuffix('s')}_of_interval", value)
    if value.type.type is Type.TIME:
        if name not in ("hour", "minute", "seconds"):
            raise Mismatch("the fields of a time are hour, minute, second")
        return plain(name, [apply("instant_of_clock", value)])
    if name is None:
        raise Mismatch(f"the fields of a date or time are {', '.join(sorted(set(_FIELDS.values())))}")
    return plain(name, [value])


def of_unit(name: str, unit: str, first: Typed, second: Typed) -> Typed:
    """DATEADD(unit, count, time), DATEDIFF(unit, start, end) and those called TIMESTAMPADD, TIMESTAMPDIFF."""
    is_moved = name in ("dateadd", "date_add", "timestampadd")
    unit = "DAY" if is_moved and unit.upper() == "DAYOFYEAR" else unit.upper()
    if unit not in (*IN_MONTHS, *SPANS):
        raise Mismatch(f"the units are {', '.join((*IN_MONTHS, *SPANS))}")
    is_months = unit in IN_MONTHS
    size = constant(IN_MONTHS[unit] if is_months else SPANS[unit] // timedelta.resolution, LONG)
    if is_moved:
        units = operators.arithmetic(exp.Mul, to(first, LONG), size)
        span = apply("interval_of_months" if is_months else "interval_of_microseconds", units)
        moved = second if second.type.type is Type.TIMESTAMP_NTZ else to(second, TIMESTAMP)
        return operators.arithmetic(exp.Add, moved, span)
    start, end = to(first, TIMESTAMP), to(second, TIMESTAMP)
    between = operators.arithmetic(exp.Sub, end, start)
    units = apply("whole_months", start, end) if is_months else apply("units_of_interval", between)
    return operators.arithmetic(exp.IntDiv, units, size)


@rule(
    "timestampadd",
    "timestampdiff",
    of="interval_of_months interval_of_microseconds units_of_interval whole_months",
)
def timestamp_add(count: Typed, time: Typed) -> Typed:
    """These have a unit, see `of_unit`."""
    raise Mismatch("the first argument is a unit, such as DAY")


@rule("datediff", "date_diff")
def datediff(end: Typed, start: Typed) -> Typed:
    """The days from the second date to the first."""
    return attempted(exp.Sub, to(end, DATE), to(start, DATE))


def _pattern(argument: Typed, known: frozenset[str]) -> Typed:
    """Return the pattern of a time, of letters that are known."""
    text = literal_of(argument, "the pattern of a time", sample="yyyy")
    unknown = [part for part, letters in parts_of(text) if letters and part not in known]
    if unknown or text.count("'") % 2 or open_brackets(text) is None:
        what = f"{unknown[0]!r} is none" if unknown else "a quotation has no end, or a bracket no begin"
        raise Mismatch(f"{what}; the letters of such a pattern are {', '.join(sorted(known))}")
    return constant(text, TEXT)


kind("readable")(lambda argument, _: _pattern(argument, READABLE))
kind("writable")(lambda argument, _: _pattern(argument, WRITABLE))


def _unit(units: Mapping[str, str], argument: Typed, _: str) -> Typed:
    """Return the unit in which a time is truncated; NULL for what is none."""
    if not argument.is_null and is_literal(argument.expression):
        name = units.get(literal_of(argument, "the unit").lower())
        return coerced(NULL, TEXT) if name is None else constant(name, TEXT)
    names, values = ([constant(part, TEXT) for part in parts] for parts in (units, units.values()))
    return conditions.matched(plain("lower", [argument]), names, values, None)


kind("unit")(partial(_unit, _OF_TIMES))
kind("unit_of_dates")(partial(_unit, _OF_DATES))


def _to_time(target: Type, safe: bool, value: Typed, pattern: Typed | None = None) -> Typed:
    """Return a value as a date or an instant; a text by a pattern, if there is one."""
    if pattern is not None and value.type.type is TEXT:
        value = (attempt if safe else apply)("read_time", to(value, TEXT), _pattern(pattern, READABLE))
    is_seconds = target is TIMESTAMP and pattern is None and as_signed(value.type.type).is_numeric
    checked = coerced(value, target) if is_seconds and not value.is_null else to(value, target)
    return converted(value, target) if safe else checked


rule("to_date", of="read_time")(partial(_to_time, DATE, False))
rule("try_to_date", of="read_time")(partial(_to_time, DATE, True))
rule("to_timestamp", of="read_time")(partial(_to_time, TIMESTAMP, False))
rule("try_to_timestamp", of="read_time")(partial(_to_time, TIMESTAMP, True))
rule("to_timestamp_ltz", of="read_time")(partial(_to_time, TIMESTAMP, False))
rule("to_timestamp_ntz", of="read_time")(partial(_to_time, NTZ, False))


def _make_timestamp(target: Type, safe: bool, *parts: Typed) -> Typed:
    """Return the time of a year, month, day, hour, minute and second, maybe with a fraction, by the clock of a zone."""
    if len(parts) == 1 and parts[0].type.type is DATE and target is TIMESTAMP:
        return coerced(parts[0], target)
    if len(parts) in (2, 3) and parts[1].type.type is Type.TIME:
        span = apply("interval_of_microseconds", plain("unix_micros", [apply("instant_of_clock", parts[1])]))
        result, zone = operators.arithmetic(exp.Add, to(parts[0], NTZ), span), parts[2:]
        return apply("to_utc_timestamp", to(result, TIMESTAMP), to(zone[0], TEXT)) if zone else coerced(result, target)
    own, zone = parts[:6], parts[6:]
    if zone and (zone[1:] or target is NTZ):
        raise Mismatch("a year, month, day, hour, minute and second are taken, and a zone for a TIMESTAMP")
    result = (attempt if safe else apply)("make_timestamp", *brought("make_timestamp", own))
    return apply("to_utc_timestamp", result, to(zone[0], TEXT)) if zone else coerced(result, target)


for _name, _target in {"": TIMESTAMP, "_ltz": TIMESTAMP, "_ntz": NTZ}.items():
    rule(f"make_timestamp{_name}", of="make_timestamp to_utc_timestamp")(partial(_make_timestamp, _target, False))
    rule(f"try_make_timestamp{_name}", of="make_timestamp to_utc_timestamp")(partial(_make_timestamp, _target, True))


def _made_interval(name: str, fields: Fields, *parts: Typed) -> Typed:
    """Return an interval of numbers of its fields."""
    return replace(plain(name, parts), modifier=fields)


rule("make_dt_interval")(partial(_made_interval, "make_dt_interval", ("DAY", "SECOND")))
rule("make_ym_interval")(partial(_made_interval, "make_ym_interval", ("YEAR", "MONTH")))


@rule("time_bucket", of="window_start month_window_start")
def time_bucket(width: Typed, time: Typed, origin: Typed | None = None) -> Typed:
    """The start of a time's window; windows are aligned to the origin."""
    time = coerced(time, TIMESTAMP) if time.is_null else time
    type_, span = time.type.type, width.type.type
    if type_ not in (TIMESTAMP, NTZ) or not (width.is_null or span in _OF_INTERVALS):
        raise Mismatch("an interval is taken here, then a time")
    first = constant(EPOCH, type_) if origin is None else coerced(origin, type_) if origin.is_null else origin
    if first.type.type is not type_ or any(any(part.expression.find_all(exp.Column)) for part in (width, first)):
        raise Mismatch("the interval and the origin are constants, and the origin is of the time's type")
    if width.is_null or first.is_null:
        return coerced(NULL, type_)
    size = folded(apply("units_of_interval", width))
    if operators.comparison(exp.LTE, size, constant(0, LONG)).expression.this is True:
        raise Mismatch("the interval is above zero")
    start = folded(plain("unix_micros", [coerced(first, TIMESTAMP)]))
    if span is Type.YEAR_MONTH_INTERVAL:
        return apply("month_window_start", time, size, start)
    return apply("window_start", time, size, start, constant(0, LONG))


def is_window(type_: Type) -> bool:
    """Return whether values of a type have a start and an end, as windows of time do."""
    return type_.kind is Kind.STRUCT and [column.name for column in type_.fields] == ["start", "end"]


@rule("window_time")
def last_time(window: Typed) -> Typed:
    """The last microsecond of a window of time."""
    if not is_window(window.type.type):
        raise Mismatch("window_time takes a window")
    microsecond = constant(timedelta(microseconds=1), Type.DAY_TIME_INTERVAL)
    return operators.arithmetic(exp.Sub, field(window, "end"), microsecond)


@rule("timestamp_seconds")
def timestamp_seconds(seconds: Typed) -> Typed:
    """The instant some seconds after 1970 began."""
    if not (seconds.is_null or seconds.type.type.is_numeric):
        raise Mismatch("a number of seconds is taken here")
    if seconds.type.type.kind is Kind.DECIMAL:
        return apply("timestamp_seconds", seconds)
    result = coerced(seconds, TIMESTAMP)
    return folded(of_finite(seconds, result)) if seconds.type.type.is_float else result


# Times of a day


_OF_CLOCKS = {unit: span // SPANS["MICROSECOND"] for unit, span in SPANS.items() if unit not in ("WEEK", "DAY")}


@kind("unit_of_clocks")
def _unit_of_clocks(given: Typed, _: str) -> Typed:
    """The microseconds of a unit, which is a literal."""
    name = literal_of(given, "the unit", sample="HOUR").upper()
    if name not in _OF_CLOCKS:
        raise Mismatch(f"the units are {', '.join(_OF_CLOCKS)}")
    return constant(_OF_CLOCKS[name], LONG)


@kind("time_of_day")
def _time_of_day(value: Typed, _: str) -> Typed:
    """A TIME, or a text as one."""
    if not (value.is_null or value.type.type in (Type.TIME, Type.STRING)):
        raise Mismatch("a TIME is taken here")
    return coerced(value, Type.TIME)
