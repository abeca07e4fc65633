"""Random types of every kind, and their values as they stand in rows."""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import strategies as st

from deltic.values import LONGEST, of_python
from deltic.values.types import Column, Kind, Type, ValueType

SIMPLE = st.sampled_from(Type.simple())
DECIMALS = st.integers(1, 38).flatmap(lambda p: st.builds(Type.decimal, st.just(p), st.integers(0, p)))
NAMES = st.text(min_size=1, max_size=3).filter(lambda name: not any(0xD800 <= ord(c) < 0xE000 for c in name))


def _composite(inner):
    values = st.builds(ValueType, inner, st.booleans())
    columns = st.lists(st.builds(Column, NAMES, inner, st.booleans()), max_size=3, unique_by=lambda c: c.name)
    keys = inner.filter(lambda type_: type_.is_ordered)
    return st.one_of(st.builds(Type.array, values), st.builds(Type.struct, columns), st.builds(Type.map, keys, values))


TYPES = st.recursive(SIMPLE | DECIMALS, _composite, max_leaves=4)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
SCALARS = {
    Type.BOOLEAN: st.booleans(),
    Type.FLOAT32: st.floats(width=32),
    Type.FLOAT64: st.floats(),
    Type.STRING: st.text(max_size=4),
    Type.BINARY: st.binary(max_size=4),
    Type.DATE: st.dates(),
    Type.TIMESTAMP: TIMES.map(lambda time: time.replace(tzinfo=UTC)),
    Type.TIMESTAMP_NTZ: TIMES,
    Type.TIME: st.times(),
    Type.YEAR_MONTH_INTERVAL: st.integers(-(2**31), 2**31 - 1),
    Type.DAY_TIME_INTERVAL: st.timedeltas(-LONGEST, LONGEST),
}


def values_of(type_: Type):
    """Values of the type that are not NULL, as they stand in rows."""
    match type_.kind:
        case Kind.DECIMAL:
            bound = 10**type_.precision - 1
            return st.integers(-bound, bound).map(lambda n: Decimal((int(n < 0), _digits(n), -type_.scale)))
        case Kind.ARRAY:
            return st.lists(nullable(type_.element), max_size=3).map(tuple)
        case Kind.STRUCT:
            return st.tuples(*(nullable(c.value_type) for c in type_.fields))
        case Kind.MAP:
            pairs = st.tuples(values_of(type_.key), nullable(type_.value))
            return st.lists(pairs, max_size=3, unique_by=lambda p: p[0]).map(lambda v: of_python(v, type_))
    values = st.integers(*type_.range) if type_.is_integer else SCALARS[type_]
    return values.map(lambda value: of_python(value, type_))


def nullable(type_: ValueType):
    """Values of the type, None among them where it may be NULL."""
    return st.none() | values_of(type_.type) if type_.nullable else values_of(type_.type)


def _digits(number: int) -> tuple[int, ...]:
    return tuple(map(int, str(abs(number))))


def bits(value):
    """The value with its floats' bits, so that the two zeros differ and NaN equals itself."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("d", value)
    return tuple(map(bits, value)) if isinstance(value, tuple) else value
