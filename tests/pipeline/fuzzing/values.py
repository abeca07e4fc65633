"""Random types and values, and what a value that was given means in a column, as found without Deltic's own code."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa

from deltic.values.types import Column, Kind, Schema, Type

NAMES = ["a", "B", "select", "größe", "with space", "x.y", 'q"uote', "op", "n0"]
SIMPLE = list(Type.simple())
TEXTS = ["", "a", "NULL", "null", "NaN", "é", "e\u0301", "\N{GREEK SMALL LETTER ALPHA}", "\U0001f600", "\0", "tab\tend",
         'quo"te', "x" * 300, " ", "0", "-1", "1e5", "\ufeff", "\u2028", "'; DROP TABLE t; --"]  # fmt: skip
FLOATS = [0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, -1e-7, 2.0**53]
UTC = dt.UTC
FIRST, LAST = dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)


class Wrong(Exception):
    """A value that a column cannot have."""


def random_schema(rng: random.Random) -> Schema:
    """One to five columns; simple types more often than composite ones."""
    names = rng.sample(NAMES, rng.choice([1, 2, 2, 3, 3, 4, 5]))
    return Schema(tuple(Column(name, random_type(rng), rng.random() < 0.5) for name in names))


def random_type(rng: random.Random, depth: int = 0) -> Type:
    kind = rng.random()
    if kind < 0.75 or depth > 1:
        return rng.choice([*SIMPLE, Type.INT64, Type.STRING, Type.FLOAT64])
    if kind < 0.85:
        precision = rng.choice([1, 5, 10, 18, 18, 38])
        return Type.decimal(precision, rng.randint(0, precision))
    inner = random_type(rng, depth + 1)
    if kind < 0.92:
        return Type.array(inner.or_null if rng.random() < 0.5 else inner)
    if kind < 0.97:
        return Type.struct(
            [Column("p", inner, rng.random() < 0.5), Column("q", random_type(rng, depth + 1), rng.random() < 0.5)]
        )
    key = rng.choice([Type.STRING, Type.INT64, Type.DATE])
    return Type.map(key, inner.or_null)


def random_value(rng: random.Random, type_: Type, nullable: bool = False):  # noqa: C901
    """A value as Arrow would give it in Python: half of them at the ends of the type's range."""
    if nullable and rng.random() < 0.2:
        return None
    if type_.is_integer:
        least, greatest = type_.range
        return rng.choice([least, greatest, 0, 1, rng.randint(0, 9), rng.randint(least, greatest)])
    match type_.kind:
        case Kind.BOOLEAN:
            return rng.random() < 0.5
        case Kind.FLOAT64:
            return rng.choice([*FLOATS, rng.uniform(-10, 10)])
        case Kind.FLOAT32:
            return as_single(rng.choice([*FLOATS[:6], rng.uniform(-10, 10)]))
        case Kind.STRING:
            return rng.choice(TEXTS) if rng.random() < 0.7 else chr(rng.randrange(0x20, 0xD000)) * rng.randrange(4)
        case Kind.BINARY:
            return rng.randbytes(rng.choice([0, 1, 4, 200]))
        case Kind.DATE:
            return dt.date.fromordinal(rng.choice([1, 719163, 738000, 3652059, rng.randint(1, 3652059)]))
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            span = int((LAST - FIRST).total_seconds()) * 10**6
            value = rng.choice([FIRST, LAST, dt.datetime(1970, 1, 1), FIRST + dt.timedelta(0, 0, rng.randint(0, span))])
            return value.replace(tzinfo=UTC) if type_ is Type.TIMESTAMP else value
        case Kind.TIME:
            return dt.time(rng.randrange(24), rng.randrange(60), rng.randrange(60), rng.choice([0, 1, 999_999]))
        case Kind.YEAR_MONTH_INTERVAL:
            return pa.MonthDayNano([rng.choice([0, 14, -1, 2**31 - 1, -(2**31)]), 0, 0])
        case Kind.DAY_TIME_INTERVAL:
            return rng.choice([dt.timedelta(0), dt.timedelta(-1, 5), dt.timedelta(106_751_990), dt.timedelta(3, 4, 5)])
        case Kind.DECIMAL:
            most = 10**type_.precision - 1
            digits = rng.choice([0, most, -most, rng.randint(-most, most)])
            return Decimal(digits).scaleb(-type_.scale, decimal.Context(prec=60))
        case Kind.ARRAY:
            return [random_value(rng, type_.element.type, type_.element.nullable) for _ in range(rng.randrange(4))]
        case Kind.STRUCT:
            return {c.name: random_value(rng, c.type, c.nullable) for c in type_.fields}
    keys = {plain(random_value(rng, type_.key)) for _ in range(rng.randrange(3))}
    return [(key, random_value(rng, type_.value.type, type_.value.nullable)) for key in keys]


def odd_value(rng: random.Random):
    """A value of some type that the column likely has not."""
    return rng.choice([
        None, True, 0, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 1.5, 1.0, math.nan, 1e300, "x", "", "1", "\ud800",
        b"\xff", b"", dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=UTC), dt.time(1),
        dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14))),
        dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-14))),
        dt.timedelta(1), dt.timedelta.max, Decimal("1.25"), Decimal("NaN"), Decimal("Infinity"), Decimal("1e40"),
        Decimal(3), [], [1], [None], ["a", 1], {}, {"p": 1}, {"p": 1, "q": 2}, [(1, 2), (1, 3)], (1,), (1, 2), {1, 2},
        object(), len, 1j, Fraction(1, 2), np.int8(3), np.uint64(2**63), np.float32(0.1), np.float16(1.5),
        np.bool_(True),
        np.str_("s"), np.bytes_(b"b"), np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00:00:00.000000001"),
        np.datetime64("NaT"), np.timedelta64(5, "s"), np.array([1, 2]), np.array(5), np.longdouble(1), pd.NA, pd.NaT,
        pd.Timestamp("2020-01-01"), pd.Timestamp(1, unit="ns"), pd.Timestamp("2020-01-01", tz="Europe/Berlin"),
        pd.Timedelta(1, "ns"), pd.Period("2020"), pd.Interval(0, 1), pa.scalar(5), pa.scalar("x"), pa.scalar(None),
        pa.MonthDayNano([1, 2, 3]), range(3), memoryview(b"ab"), bytearray(b"ab"), "9" * 5000, 10**5000, type, Ellipsis,
    ])  # fmt: skip


def plain(value):
    """A hashable form."""
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple((key, plain(item)) for key, item in value.items())
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def as_single(value: float) -> float:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def meaning(value, type_: Type, nullable: bool):
    """The value of a column that a given one can only mean, hashable; raises Wrong where it means none.

    Of what may be taken or refused, as numpy's numbers, it tells what it has to be when it is taken.
    """
    value = value.as_py() if isinstance(value, pa.Scalar) else value
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, np.datetime64) and np.isnat(value)):
        if not nullable:
            raise Wrong
        return None
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64 | np.longdouble):
        value = value.item()
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    found = _meaning(value, type_)
    if found is None:
        raise Wrong
    return found


def _meaning(value, type_: Type):
    kind = type_.kind
    if kind is Kind.BOOLEAN:
        return value if isinstance(value, bool) else None
    if type_.is_numeric:
        return _number(value, type_)
    match kind:
        case Kind.STRING:
            return value if isinstance(value, str) and value.isascii() | _is_text(value) else None
        case Kind.BINARY:
            return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None
        case Kind.DATE:
            return _date(value)
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            return _time(value, kind is Kind.TIMESTAMP)
        case Kind.TIME:
            return value if isinstance(value, dt.time) else None
        case Kind.DAY_TIME_INTERVAL:
            return _span(value)
        case Kind.YEAR_MONTH_INTERVAL:
            return _months(value)
        case Kind.ARRAY:
            is_list = isinstance(value, list | tuple)
            return tuple(meaning(v, type_.element.type, type_.element.nullable) for v in value) if is_list else None
        case Kind.STRUCT:
            return _struct(value, type_)
    return _map(value, type_)


def _is_text(value: str) -> bool:
    return not any(0xD800 <= ord(c) < 0xE000 for c in value)


def _number(value, type_: Type):
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction | np.longdouble):
        return None
    if isinstance(value, float | Decimal | np.longdouble) and not math.isfinite(value):
        return ("nan" if math.isnan(value) else float(value)) if type_.is_float else None
    exact = Fraction(float(value) if isinstance(value, np.longdouble) else value)
    if type_.is_integer:
        least, greatest = type_.range
        return int(exact) if exact.denominator == 1 and least <= exact <= greatest else None
    if type_.kind is Kind.DECIMAL:
        scaled = exact * 10**type_.scale
        return exact if scaled.denominator == 1 and abs(scaled) < 10**type_.precision else None
    try:
        near = float(exact)
    except OverflowError:
        return None
    if type_ is Type.FLOAT64:
        return near if Fraction(near) == exact else None
    single = as_single(near)
    return single if math.isfinite(single) and (isinstance(value, float) or Fraction(single) == exact) else None


def _date(value):
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[D]").item() if value == value.astype("datetime64[D]") else None
    if isinstance(value, dt.datetime):
        return None if value.tzinfo or value.time() != dt.time(0) else value.date()
    return value if isinstance(value, dt.date) else None


def _time(value, is_instant: bool):
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if not isinstance(value, dt.datetime) or getattr(value, "nanosecond", 0):
        return None
    if (value.tzinfo is not None) != is_instant:
        return None
    offset = value.utcoffset() or dt.timedelta(0)
    return (value.replace(tzinfo=None) - dt.datetime(1970, 1, 1) - offset) // dt.timedelta(microseconds=1)


def _span(value):
    if isinstance(value, np.timedelta64):
        value = value.astype("timedelta64[us]").item()
    if not isinstance(value, dt.timedelta) or getattr(value, "nanoseconds", 0):
        return None
    span = dt.timedelta(value.days, value.seconds, value.microseconds)
    return span if abs(span) < dt.timedelta(106_751_991) else None


def _months(value):
    if isinstance(value, pa.MonthDayNano):
        return None if value.days or value.nanoseconds else value.months
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and -(2**31) <= value < 2**31 else None


def _struct(value, type_: Type):
    fields = type_.fields
    if isinstance(value, dict):
        if value.keys() != {c.name for c in fields}:
            return None
        value = [value[c.name] for c in fields]
    if not isinstance(value, list | tuple) or len(value) != len(fields):
        return None
    return tuple(meaning(v, c.type, c.nullable) for v, c in zip(value, fields, strict=True))


def _map(value, type_: Type):
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list | tuple) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        return None
    found = {meaning(k, type_.key, False): meaning(v, type_.value.type, type_.value.nullable) for k, v in pairs}
    return frozenset(found.items()) if len(found) == len(pairs) else None
