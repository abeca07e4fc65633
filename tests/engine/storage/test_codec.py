"""Values of every type to integers and back. Catches values that come back changed, an order that is not the type's,
equal values with two ids, and NULL that is taken for a value.
"""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

from deltic.engine.storage.codec import decode, encode, encode_scalar
from deltic.engine.storage.interner import Interner, is_labelled
from deltic.values.types import Schema, Type

INF, NAN = float("inf"), float("nan")
HUGE = 10**38 - 1
PAIRS = Type.struct(Schema.of(x=Type.INT32, y=Type.STRING.or_null))


def whole(values: list[int | None], type_: Type) -> pa.Array:
    """A column of times by their numbers."""
    return pa.array(values, pa.int32() if type_ is Type.DATE else pa.int64()).cast(type_.arrow)


def months(values: list[int]) -> list[tuple[int, int, int]]:
    return [(value, 0, 0) for value in values]


# The values of each type in ascending order, with its least and greatest.
ASCENDING: dict[Type, list[object]] = {
    Type.BOOLEAN: [False, True],
    Type.FLOAT32: [-INF, -3.4028234663852886e38, -1e-45, 0.0, 1e-45, 2.5, 3.4028234663852886e38, INF, NAN],
    Type.FLOAT64: [-INF, -1.7976931348623157e308, -5e-324, 0.0, 5e-324, 2.5, 1e300, INF, NAN],
    Type.STRING: ["", "a", "b", "✓", "\U0001f600"],
    Type.BINARY: [b"", b"\x00", b"\x00\x01", b"a", b"\xff"],
    Type.decimal(5, 2): [decimal.Decimal(t) for t in ("-999.99", "-0.01", "0.00", "0.10", "999.99")],
    Type.decimal(18): [decimal.Decimal(n) for n in (1 - 10**18, -1, 0, 10**18 - 1)],
    Type.decimal(19, 3): [decimal.Decimal(n).scaleb(-3) for n in (1 - 10**19, -1, 0, 1, 10**19 - 1)],
    Type.decimal(38): [decimal.Decimal(n) for n in (-HUGE, -(2**64), 0, 2**64, HUGE)],
    Type.YEAR_MONTH_INTERVAL: months([-(2**31), -1, 0, 11, 2**31 - 1]),
    Type.array(Type.FLOAT64.or_null): [[], [None], [-1.0], [0.0], [0.0, None], [0.0, 1.0], [NAN]],
    PAIRS: [{"x": -1, "y": "b"}, {"x": 0, "y": None}, {"x": 0, "y": "a"}, {"x": 2**31 - 1, "y": ""}],
}
ASCENDING |= {t: [*dict.fromkeys((t.range[0], 0, 5, t.range[1]))] for t in Type.simple() if t.is_integer}
TIMES = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.DAY_TIME_INTERVAL)
WITHOUT_ORDER: dict[Type, list[object]] = {
    Type.map(Type.STRING, Type.TIMESTAMP.or_null): [[("a", None), ("b", datetime.datetime(2024, 2, 29))], []],
    Type.array(Type.array(Type.DATE)): [[[datetime.date(1, 1, 1)], []]],
}
COLUMNS = {type_: pa.array(values, type_.arrow) for type_, values in (ASCENDING | WITHOUT_ORDER).items()}
COLUMNS |= {t: whole([-(2**63), -1, 0, 2**63 - 1], t) for t in TIMES[1:]}
COLUMNS[Type.DATE] = whole([-(2**31), -1, 0, 2**31 - 1], Type.DATE)


def in_order(values: np.ndarray, type_: Type, interner: Interner) -> np.ndarray:
    """The values as engines compare them: ids by their labels."""
    return interner[type_].order.of(values) if is_labelled(type_) else values


@pytest.mark.parametrize("type_", COLUMNS, ids=str)
def test_values_come_back_and_ids_differ(type_: Type) -> None:
    interner, column = Interner(), COLUMNS[type_]
    values, nulls = encode(column, type_, interner)
    assert nulls is None
    assert len(set(values.tolist())) == len(column)
    found = decode(values, None, type_, interner)
    found.validate(full=True)
    assert str(found) == str(column)
    assert found.type == type_.arrow
    sliced, _ = encode(column[1:], type_, interner)
    assert sliced.tolist() == values[1:].tolist()


@pytest.mark.parametrize("type_", [t for t in COLUMNS if t not in WITHOUT_ORDER], ids=str)
def test_order_is_that_of_the_type(type_: Type) -> None:
    interner = Interner()
    column = COLUMNS[type_]
    backwards, _ = encode(column.take(pa.array(range(len(column) - 1, -1, -1))), type_, interner)
    ordered = in_order(backwards, type_, interner)[::-1]
    assert (np.diff(ordered.astype(object)) > 0).all()


@pytest.mark.parametrize("type_", COLUMNS, ids=str)
def test_null_among_values(type_: Type) -> None:
    interner, column = Interner(), COLUMNS[type_]
    picks = pa.array([None, 0, None, len(column) - 1])
    mixed = column.take(picks)
    values, nulls = encode(mixed, type_, interner)
    assert nulls is not None
    assert nulls.tolist() == [True, False, True, False]
    assert str(decode(values, nulls, type_, interner)) == str(mixed)
    nothing = pa.nulls(3, type_.arrow)
    assert decode(*encode(nothing, type_, interner), type_, interner).equals(nothing)
    none, _ = encode(column[:0], type_, interner)
    assert none.dtype == np.int64
    assert not len(none)


@pytest.mark.parametrize("type_", [Type.FLOAT32, Type.FLOAT64], ids=str)
def test_floats_that_sql_holds_equal_have_one_code(type_: Type) -> None:
    values, _ = encode(pa.array([0.0, -0.0, NAN, -NAN], type_.arrow), type_, Interner())
    assert values[0] == values[1]
    assert values[2] == values[3]


def test_composite_values_that_spark_holds_equal_have_one_id() -> None:
    interner = Interner()
    lists = Type.array(Type.FLOAT64)
    ids, _ = encode(pa.array([[0.0, NAN], [-0.0, -NAN], [NAN, 0.0]], lists.arrow), lists, interner)
    assert ids.tolist() == [0, 0, 1]
    maps = Type.map(Type.STRING, Type.INT64)
    ids, _ = encode(pa.array([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", 2)]], maps.arrow), maps, interner)
    assert ids.tolist() == [0, 1, 2]  # a map keeps its order, see `comparable`


def test_types_do_not_share_ids() -> None:
    interner = Interner()
    assert encode_scalar("a", Type.STRING, interner) == encode_scalar(b"a", Type.BINARY, interner) == 0
    assert len(interner[Type.STRING]) == len(interner[Type.BINARY]) == 1
    assert interner[Type.BINARY].find(b"b") is None
