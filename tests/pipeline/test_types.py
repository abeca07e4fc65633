"""Values of every type on their way in, from rows, Arrow, pandas and Spark, and what is said of those that do not fit.

Catches a value that is silently rounded, cut or moved to another time zone, and a reason that does not name its place.
"""

from __future__ import annotations

import datetime
import math
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from deltic.errors import DataError
from deltic.pipeline.rows.coerce import to_table
from deltic.pipeline.spark.spark import to_dataframe
from deltic.values import from_arrow, to_arrow, to_python
from deltic.values.types import Column, Schema, Type
from deltic.values.types.spark import spark_type
from tests.circuit.random_values import TYPES, bits, nullable

UTC, NOON = datetime.UTC, datetime.datetime(2026, 1, 1, 12)
PAIR = Type.struct([Column("a", Type.INT64), Column("b", Type.STRING, True)])
BIG = 2**53 + 1


def schema_of(type_, nullable=False):
    return Schema((Column("x", type_, nullable),))


@given(st.data())
def test_values_come_in_as_rows_and_as_arrow(data):
    type_ = data.draw(TYPES)
    values = data.draw(st.lists(nullable(type_.or_null), max_size=4))
    schema = schema_of(type_, nullable=True)
    for rows in ([(to_python(v, type_),) for v in values], pa.table({"x": to_arrow(values, type_)})):
        found = to_table("t", schema, rows)
        assert found.schema == schema.to_arrow()
        assert list(map(bits, from_arrow(found["x"], type_))) == list(map(bits, values))


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (Type.FLOAT64, 2**60, 2.0**60),
        (Type.FLOAT32, 2**24, 2.0**24),
        (Type.FLOAT32, 0.1, float(np.float32(0.1))),
        (Type.decimal(10, 2), 7, Decimal(7)),
        (Type.decimal(10, 2), Decimal("1.500"), Decimal("1.5")),
        (Type.BINARY, bytearray(b"a"), b"a"),
        (Type.TIMESTAMP, NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1))), None),
        (Type.YEAR_MONTH_INTERVAL, 14, pa.MonthDayNano([14, 0, 0])),
        (PAIR, (1, None), {"a": 1, "b": None}),
        (PAIR, {"b": "x", "a": 1}, {"a": 1, "b": "x"}),
        (Type.map(Type.STRING, Type.INT8), {"b": 1, "a": 2}, [("a", 2), ("b", 1)]),
        (Type.array(Type.FLOAT64), (1, 0.5), [1.0, 0.5]),
        (Type.array(Type.INT64.or_null), [None, 2], [None, 2]),
        (Type.INT8, np.int64(5), 5),
        (Type.INT8, -5.0, -5),
        (Type.INT8, Decimal("5.00"), 5),
        (Type.decimal(10, 2), 19.99, Decimal("19.99")),
        (Type.decimal(38, 30), 0.1, Decimal("0.1")),
        (Type.decimal(10, 2), -0.0, Decimal(0)),
        (Type.DATE, NOON.replace(hour=0), NOON.date()),
        (Type.array(Type.decimal(10, 2)), [1.5, 2], [Decimal("1.5"), Decimal(2)]),
    ],
)
def test_values_that_stand_for_others(type_, value, expected):
    (row,) = to_table("t", schema_of(type_), [(value,)]).to_pylist()
    assert row["x"] == (value if expected is None else expected)


REFUSED = [
    (Type.FLOAT64, BIG, "no float is equal to 9007199254740993; the nearest is 9007199254740992.0"),
    (Type.FLOAT64, 10**400, "no float is equal to 1000"),
    (Type.FLOAT32, 2**24 + 1, "no float is equal to 16777217; the nearest is 16777216.0"),
    (Type.FLOAT32, 1e300, "1e+300 is out of range for a value of type float32"),
    (Type.INT8, 128, "128 is out of range for a value of type int8 (-128 to 127)"),
    (Type.UINT16, -1, "-1 is out of range for a value of type uint16 (0 to 65535)"),
    (Type.decimal(3, 1), Decimal("1.25"), "1.25 has more digits than a value of type decimal(3, 1)"),
    (Type.decimal(3, 1), 100, "100 has more digits than"),
    (Type.decimal(3, 1), Decimal("NaN"), "expected a value of type decimal(3, 1), found NaN (Decimal)"),
    (
        Type.decimal(3, 1),
        1.25,
        "1.25 has more digits than a value of type decimal(3, 1); round it first, or have it rounded: coerce",
    ),
    (Type.decimal(3, 1), math.nan, "expected a value of type decimal(3, 1), found nan (float)"),
    (Type.INT8, 1.5, "1.5 is not whole; round it first, or have it rounded: coerce=True"),
    (Type.INT8, 128.0, "128.0 is out of range for a value of type int8 (-128 to 127)"),
    (Type.INT8, Decimal("1e999999"), "1E+999999 is out of range for a value of type int8"),
    (Type.INT8, math.inf, "expected a value of type int8, found inf (float)"),
    (Type.TIMESTAMP, NOON, "expected a timestamp with a time zone, found datetime.datetime"),
    (Type.TIMESTAMP_NTZ, NOON.replace(tzinfo=UTC), "expected a timestamp without a time zone, found datetime.datetime"),
    (
        Type.TIMESTAMP_NTZ,
        pd.Timestamp("2026-01-01 00:00:00.000000001"),
        "2026-01-01 00:00:00.000000001 has nanoseconds",
    ),
    (
        Type.DATE,
        NOON,
        "2026-01-01 12:00:00 is not midnight, so that no date is equal to it; take its date(), or have it rounded",
    ),
    (Type.DATE, NOON.replace(hour=0, tzinfo=UTC), "expected a date, found datetime.datetime"),
    (Type.BINARY, "a", "expected bytes, found 'a' (str)"),
    (
        Type.YEAR_MONTH_INTERVAL,
        pa.MonthDayNano([1, 1, 0]),
        "MonthDayNano(months=1, days=1, nanoseconds=0) is no number of months in 32 bits",
    ),
    (
        Type.DAY_TIME_INTERVAL,
        datetime.timedelta.max,
        f"{datetime.timedelta.max!r} is longer than the longest interval, 106751990 days",
    ),
    (Type.array(Type.INT64), [1, None], "element 2: expected a number, found null"),
    (Type.array(Type.INT64.or_null), [1, "a"], "element 2: expected a number or null, found 'a' (str)"),
    (PAIR, {"a": 1}, "expected the fields a, b, found a"),
    (PAIR, (None, "x"), "field a: expected a number, found null"),
    (Type.map(Type.STRING, Type.INT64), {"k": None}, "value of 'k': expected a number, found null"),
    (Type.map(Type.STRING, Type.INT64), {None: 1}, "key: expected a string, found null"),
    (Type.map(Type.INT64, Type.INT64), [(1, 1), (1, 2)], "two values of one key"),
    (Type.map(Type.INT64, Type.INT64), [1], "expected pairs of a key and its value"),
]


@pytest.mark.parametrize(("type_", "value", "reason"), REFUSED)
def test_values_that_do_not_fit(type_, value, reason):
    with pytest.raises(DataError) as caught:
        to_table("t", schema_of(type_), [(value,)])
    assert f"table t, row 1, column x: {reason}" in str(caught.value)


@pytest.mark.parametrize(
    "rows",
    [
        [(0.5,), (BIG,)],
        [(1,), (BIG,)],
        [{"x": 1}, {"x": BIG}],
        pa.table({"x": [1, BIG]}),
        pa.table({"x": pa.array([1, BIG], pa.uint64())}),
        pa.table({"x": [Decimal(1), Decimal(BIG)]}),
        pd.DataFrame({"x": [1, BIG]}),
    ],
    ids=["mixed rows", "rows", "dicts", "arrow", "unsigned arrow", "decimals", "pandas"],
)
def test_a_whole_number_that_no_float_equals_is_refused_in_every_form(rows):
    with pytest.raises(DataError, match=r"row 2, column x: no float is equal to 9007199254740993; the nearest is"):
        to_table("t", schema_of(Type.FLOAT64), rows)


def test_whole_numbers_that_floats_equal_come_in_every_form():
    for rows in ([(2**60,)], pa.table({"x": [2**60]}), pd.DataFrame({"x": [2**60]})):
        assert to_table("t", schema_of(Type.FLOAT64), rows).to_pylist() == [{"x": 2.0**60}]


def test_nulls_go_where_they_may():
    schema = Schema((Column("a", Type.INT64, True), Column("b", Type.STRING, True)))
    for rows in (
        [(1, None), (None, "x")],
        [{"a": 1, "b": None}, {"a": None, "b": "x"}],
        pa.table({"a": [1, None], "b": [None, "x"]}),
        pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [None, "x"]}),
    ):
        assert to_table("t", schema, rows).to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


def test_a_type_that_the_column_does_not_take():
    with pytest.raises(DataError, match="expected a timestamp with a time zone, found a column of type timestamp"):
        to_table("t", schema_of(Type.TIMESTAMP), pa.table({"x": [NOON]}))
    with pytest.raises(DataError, match=r"expected a value of type array\(int64\), found a column of type list"):
        to_table("t", schema_of(Type.array(Type.INT64)), pa.table({"x": [["a"]]}))


def test_nulls_inside_of_arrow_values_are_found():
    with pytest.raises(DataError, match="row 2, column x: element 1: expected a number, found null"):
        to_table("t", schema_of(Type.array(Type.INT64)), pa.table({"x": [[1], [None]]}))


EVERYTHING = Schema(
    (
        *(Column(f"c{i}", type_, True) for i, type_ in enumerate(t for t in Type.simple() if t is not Type.TIME)),
        Column("decimal", Type.decimal(38, 10), True),
        Column("array", Type.array(Type.decimal(5, 2).or_null), True),
        Column("struct", Type.struct([Column("s", Type.TIMESTAMP, True), Column("u", Type.UINT32, True)]), True),
        Column("map", Type.map(Type.STRING, Type.array(Type.INT8)), True),
    )
)


@pytest.mark.parametrize("small", [1 << 30, 0], ids=["in the plan", "through a file"])
@settings(max_examples=6, phases=[Phase.generate])
@given(data=st.data())
def test_a_table_to_spark_and_back(spark, data, small):
    """Types and values; unsigned integers come back into columns that are declared so. Files hold no NOT NULL."""
    rows = data.draw(st.lists(st.tuples(*(nullable(c.value_type) for c in EVERYTHING)), min_size=20, max_size=20))
    columns = [to_arrow([row[i] for row in rows], c.type) for i, c in enumerate(EVERYTHING)]
    frame = to_dataframe(spark, pa.table(columns, schema=EVERYTHING.to_arrow()), Path(tempfile.gettempdir()), small)
    found, expected = [field.dataType for field in frame.schema], [spark_type(c.type) for c in EVERYTHING]
    assert [type_.simpleString() for type_ in found] == [type_.simpleString() for type_ in expected]
    assert found == expected or not small
    back = to_table("t", EVERYTHING, frame)
    for name, column, type_ in zip(EVERYTHING.names, columns, EVERYTHING.types.values(), strict=True):
        assert list(map(bits, from_arrow(back[name], type_))) == list(map(bits, from_arrow(column, type_)))


def test_whole_decimals_are_no_months_in_rows_nor_in_columns():
    for rows in ([(Decimal(3),)], pa.table({"x": [Decimal(3)]})):
        with pytest.raises(DataError, match="expected a value of type year_month_interval"):
            to_table("t", schema_of(Type.YEAR_MONTH_INTERVAL), rows)


def test_nan_is_no_null():
    assert math.isnan(to_table("t", schema_of(Type.FLOAT64), [(math.nan,)]).to_pylist()[0]["x"])
