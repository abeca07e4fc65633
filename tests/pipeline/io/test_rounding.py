"""What `coerce=True` makes of values that do not fit: the nearest ones, counted and shown; others are refused.

Catches a value that is rounded in another way than the text of the documentation says, a rounded value that is not
counted, and a value without a nearest one that is let in.
"""

from __future__ import annotations

import datetime
import json
import sqlite3
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltic
from deltic import External
from deltic.errors import CatalogError, DataError
from deltic.pipeline.io.columns import lossless
from deltic.pipeline.io.rounding import Rounding
from deltic.pipeline.io.values import problem
from deltic.pipeline.rows.coerce import to_table
from deltic.values.numbers import to_decimal
from deltic.values.types import Column, Schema, Type

NOON, DAY = datetime.datetime(2026, 1, 1, 12), datetime.date(2026, 1, 1)
PRICE = Type.decimal(6, 2)


def rounded(type_, values, arrow=None):
    rounding = Rounding()
    table = to_table(
        "t", Schema((Column("x", type_, True),)), pa.table({"x": pa.array(values, arrow)}), rounding=rounding
    )
    return table["x"].to_pylist(), rounding.columns.get("x")


@given(st.lists(st.floats() | st.floats(-1e4, 1e4) | st.sampled_from([0.125, 9999.995, 1e-300, 2.675]), min_size=1))
def test_floats_go_to_the_nearest_decimal_of_their_text(values):
    nearest = [to_decimal(Decimal(repr(value)), PRICE) for value in values]
    if None in nearest:
        with pytest.raises(DataError, match=f"row {nearest.index(None) + 1}, column x"):
            rounded(PRICE, values, pa.float64())
        return
    result, counted = rounded(PRICE, values, pa.float64())
    assert result == nearest
    count = sum(near != Decimal(repr(value)) for near, value in zip(nearest, values, strict=True))
    assert (counted.count if counted else 0) == count


VALUES = st.floats() | st.decimals(-(10**30), 10**30, places=5) | st.integers(-(2**70), 2**70)
TYPES = {str(t): t for t in (Type.INT64, Type.INT8, Type.UINT64, PRICE, Type.decimal(38, 5), Type.FLOAT64)}


@given(VALUES | VALUES.map(str), st.sampled_from(sorted(TYPES)))
def test_one_value_is_rounded_as_a_column_is(value, name):
    try:
        array = pa.array([value])
    except (pa.ArrowException, OverflowError):
        return
    alone, together, column = Rounding(), Rounding(), Column("x", TYPES[name])
    near, nearest = alone.near(value, column), together.nearest(array, column)[0].as_py()
    if nearest is None or problem(nearest, column) is not None:
        assert problem(near, column) is not None
    else:
        assert near == nearest or (near != near and nearest != nearest)
        assert alone.columns == together.columns


@given(st.lists(st.floats() | st.integers(-(10**5), 10**5).map(lambda n: n / 100)))
def test_floats_with_the_value_of_a_decimal_need_no_rounding(values):
    fitting = [value for value in values if to_decimal(Decimal(repr(value)), PRICE) == Decimal(repr(value))]
    expected = [Decimal(repr(value)) for value in fitting]
    schema = Schema((Column("x", PRICE),))
    assert to_table("t", schema, pa.table({"x": pa.array(fitting, pa.float64())}))["x"].to_pylist() == expected
    assert to_table("t", schema, [(value,) for value in fitting])["x"].to_pylist() == expected


@given(st.lists(st.decimals(-(10**5), 10**5, places=7), min_size=1))
def test_decimals_and_texts_are_rounded_alike(values):
    nearest = [near if (near := to_decimal(value, PRICE)) is not None else Decimal(0) for value in values]
    fitting = [value if to_decimal(value, PRICE) is not None else Decimal(0) for value in values]
    assert rounded(PRICE, fitting, pa.decimal128(38, 7))[0] == nearest
    assert rounded(PRICE, list(map(str, fitting)))[0] == nearest


@pytest.mark.parametrize(
    ("type_", "value", "arrow", "near"),
    [
        (Type.INT64, 2.5, None, 3),
        (Type.INT8, -127.6, None, -128),
        (Type.INT64, "1e3", None, 1000),
        (Type.INT64, Decimal("1.49"), None, 1),
        (Type.UINT64, 2.0**63, None, 2**63),
        (Type.decimal(38, 30), 0.1, None, Decimal("0.1")),
        (Type.decimal(38, 38), f"0.{'1234567890' * 4}", None, Decimal("0." + "1234567890" * 3 + "12345679")),
        (Type.decimal(38, 5), "184467440720790.56827", None, Decimal("184467440720790.56827")),
        (PRICE, Decimal("0.125000000000000000000000000000"), None, Decimal("0.13")),
        (Type.FLOAT64, 2**53 + 1, None, 2.0**53),
        (Type.FLOAT64, Decimal("0.1"), None, 0.1),
        (Type.FLOAT64, " 1.5 ", None, 1.5),
        (Type.DATE, NOON, None, DAY),
        (Type.DATE, "2026-01-01 12:00", None, DAY),
        (Type.DATE, "2026-01-01", None, DAY),
        (Type.TIMESTAMP_NTZ, 1_500, pa.timestamp("ns"), datetime.datetime(1970, 1, 1, microsecond=1)),
        (Type.TIMESTAMP, "2026-01-01T12:00:00Z", None, NOON.replace(tzinfo=datetime.UTC)),
        (Type.BOOLEAN, "True", None, True),
    ],
)  # fmt: skip
def test_the_nearest_value(type_, value, arrow, near):
    assert rounded(type_, [value, None], arrow)[0] == [near, None]
    if arrow is None:
        assert Rounding().near(value, Column("x", type_)) == near
    assert rounded(type_, pa.array([value, None], arrow).dictionary_encode())[0] == [near, None]


@pytest.mark.parametrize(
    ("type_", "value", "words"),
    [
        (Type.INT8, 128.5, "128.5 is out of range"),
        (Type.INT64, float("nan"), "expected a number, found nan"),
        (PRICE, 9999.995, "9999.995 has more digits"),
        (PRICE, "12 €", "found '12 €' (str)"),
        (Type.DATE, "2026-02-30", "found '2026-02-30' (str)"),
        (Type.DATE, NOON.replace(tzinfo=datetime.UTC), "expected a date, found a column of type timestamp"),
        (Type.STRING, 1, "expected a string, found a column of type int64"),
        (Type.INT64, True, "expected a number, found a column of type bool"),
    ],
)
def test_values_without_a_nearest_one(type_, value, words):
    with pytest.raises(DataError) as caught:
        rounded(type_, [value])
    assert words in str(caught.value)


def test_lossless_is_about_equal_values():
    assert lossless(pa.chunked_array([[19.99]]), PRICE).to_pylist() == [Decimal("19.99")]
    assert lossless(
        pa.chunked_array([pa.array([NOON.replace(hour=0)], pa.timestamp("ns"))]), Type.DATE
    ).to_pylist() == [DAY]
    for values, type_ in (([1.5], Type.INT64), ([0.125], PRICE), ([NOON], Type.DATE), ([float("nan")], PRICE)):
        with pytest.raises(pa.ArrowException):
            lossless(pa.chunked_array([values]), type_)


def shop():
    pipeline = deltic.Pipeline()
    pipeline.table("sale", {"id": "int64", "price": "decimal(6, 2)?", "day": "date?"}, key="id")
    return pipeline


ROWS = {"id": [1, 2], "price": [0.125, 2.5], "day": ["2026-01-01", None]}
FORMS = {
    "pandas": lambda path: pd.DataFrame(ROWS),
    "arrow": lambda path: pa.table(ROWS),
    "tuples": lambda path: list(zip(*ROWS.values(), strict=True)),
    "dicts": lambda path: pa.table(ROWS).to_pylist(),
    "csv": lambda path: path.joinpath("a.csv"),
    "parquet": lambda path: path.joinpath("a.parquet"),
    "json": lambda path: path.joinpath("a.json"),
    "json lines": lambda path: path.joinpath("a.jsonl"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_rounded_alike(form, tmp_path):
    (tmp_path / "a.csv").write_text("1,0.125,2026-01-01\n2,2.5,\n")
    pq.write_table(pa.table(ROWS), tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text(json.dumps(pa.table(ROWS).to_pylist()))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pa.table(ROWS).to_pylist()))
    pipeline = shop()
    with pipeline.transaction() as change:
        change.insert("sale", FORMS[form](tmp_path), coerce=True)
    assert sorted(pipeline["sale"]) == [(1, Decimal("0.13"), DAY), (2, Decimal("2.50"), None)]
    assert {c: each.count for c, each in change.report.rounded.items()} == {"sale.price": 1}
    assert "sale.price: 1 value rounded, such as 0.125 to 0.13" in str(change.report)


SIGNED = {
    "dicts": [{"id": 1, "price": 0.125, "day": "2026-01-01", "op": "+"}],
    "JSON": ['{"id": 1, "price": 0.125, "day": "2026-01-01", "op": "c"}'],
    "arrow": pa.table({"id": [1], "price": [0.125], "day": ["2026-01-01"], "op": ["+"]}),
    "envelopes": [{"op": "u", "before": None, "after": {"id": 1, "price": "0.125", "day": "2026-01-01T12:00"}}],
}


@pytest.mark.parametrize("form", SIGNED)
def test_changes_are_rounded(form):
    pipeline = shop()
    with pipeline.transaction() as change:
        change.change("sale", SIGNED[form], coerce=True)
    assert list(pipeline["sale"]) == [(1, Decimal("0.13"), DAY)]
    assert change.report.rounded["sale.price"].count == 1
    with pytest.raises(DataError), pipeline.transaction() as change:
        change.change("sale", SIGNED[form])


@pytest.mark.parametrize("price", ["12 €", 99999.5, True])
def test_changes_without_a_nearest_value_are_refused(price):
    pipeline = shop()
    row = {"id": 1, "price": price, "day": None}
    for rows in ([row | {"op": "+"}], [{"op": "c", "after": row}]):
        with pytest.raises(DataError, match="column price: "), pipeline.transaction() as change:
            change.change("sale", rows, coerce=True)


def json_file(place):
    (place / "a.json").write_text(json.dumps(pa.table(ROWS).to_pylist()))
    return External("json", path=place, coerce=True)


def delta(place):
    pytest.importorskip("deltalake").write_deltalake(str(place), pa.table(ROWS))
    return External("delta", path=place, coerce=True)


def iceberg(place):
    catalogs = pytest.importorskip("pyiceberg.catalog")
    options = {"uri": f"sqlite:///{place}/catalog.db", "warehouse": f"file://{place}"}
    catalog = catalogs.load_catalog("default", type="sql", **options)
    catalog.create_namespace("shop")
    catalog.create_table("shop.sale", pa.table(ROWS).schema).append(pa.table(ROWS))
    return External("iceberg", table="shop.sale", coerce=True, **options)


def database(place):
    with sqlite3.connect(place / "shop.db") as connection:
        connection.execute("CREATE TABLE sale (id INTEGER, price REAL, day TEXT)")
        connection.executemany("INSERT INTO sale VALUES (?, ?, ?)", zip(*ROWS.values(), strict=True))
    return External("database", url=f"sqlite:///{place}/shop.db", table="sale", coerce=True)


@pytest.mark.parametrize("source", [json_file, delta, iceberg, database])
def test_sources_are_rounded(source, tmp_path):
    pipeline, columns = deltic.Pipeline(), {"id": "int64", "price": "decimal(6, 2)?", "day": "date?"}
    pipeline.table("sale", columns, key="id", source=source(tmp_path))
    report = pipeline.refresh()
    assert sorted(pipeline["sale"]) == [(1, Decimal("0.13"), DAY), (2, Decimal("2.50"), None)]
    assert {column: each.count for column, each in report.sources["sale"].rounded.items()} == {"price": 1}


def test_doors_by_key_round_too():
    pipeline = shop()
    with pipeline.transaction() as change:
        change.upsert("sale", [(1, "0.125", None), (2, 1, None)], coerce=True)
        change.update("sale", [{"id": 1, "price": 0.375}], coerce=True)
        change.delete("sale", [(2.0,)], coerce=True)
    assert list(pipeline["sale"]) == [(1, Decimal("0.38"), None)]
    assert change.report.rounded["sale.price"].count == 2


def test_a_refused_batch_counts_nothing():
    pipeline = shop()
    with pipeline.transaction() as change:
        with pytest.raises(DataError):
            change.insert("sale", [(1, 0.125, None), (None, 1.0, None)], coerce=True)
        change.insert("sale", [(1, 1.0, None)], coerce=True)
    assert not change.report.rounded


def test_a_table_of_rows_and_one_of_a_source(tmp_path):
    pipeline = deltic.Pipeline()
    moment = pd.DataFrame({"t": pd.to_datetime(["2026-01-01 00:00:00.000000001"])})
    assert "t.t: 1 value rounded" in str(pipeline.table("t", moment, coerce=True))
    with pytest.raises(CatalogError, match="coerce is about rows or a source"):
        pipeline.table("u", {"a": "int64"}, coerce=True)
    (tmp_path / "a.csv").write_text("1,0.125\n")
    columns = {"id": "int64", "price": "decimal(6, 2)"}
    pipeline.table("sale", columns, source=tmp_path, coerce=True)
    report = pipeline.refresh()
    assert list(pipeline["sale"]) == [(1, Decimal("0.13"))]
    assert report.sources["sale"].rounded["price"].count == 1
    assert "price: 1 value rounded, such as 0.125 to 0.13" in str(report)


def test_create_table_using(tmp_path):
    (tmp_path / "a.csv").write_text("1,0.125\n\n2,x\n")
    pipeline = deltic.Pipeline()
    text = f"CREATE TABLE sale (id INT, price DECIMAL(6, 2)) USING csv OPTIONS (coerce 'true') LOCATION '{tmp_path}'"
    with pytest.raises(DataError, match=r"column price: expected a value of type decimal\(6, 2\) or null, found 'x'"):
        pipeline.sql(text)
    (tmp_path / "a.csv").write_text("1,0.125\n2,1e-9\n")
    assert "sale.price: 2 values rounded, such as 0.125 to 0.13" in str(pipeline.sql(text))
    assert sorted(pipeline["sale"]) == [(1, Decimal("0.13")), (2, Decimal(0))]
