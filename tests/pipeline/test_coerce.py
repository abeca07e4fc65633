"""Rows in the forms that users have them. Catches a value that is silently turned into another."""

from __future__ import annotations

import datetime
import decimal
import math
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltic
from deltic.errors import DataError
from deltic.pipeline.io.rounding import Rounding
from deltic.pipeline.rows.coerce import to_table
from deltic.values.types import Column, Schema, Type

SCHEMA = Schema.of(n=Type.INT64, f=Type.FLOAT64, s=Type.STRING, u=Type.UINT64)
EVERYTHING = Schema(
    (
        Column("b", Type.BOOLEAN),
        Column("d", Type.DATE),
        Column("t", Type.TIMESTAMP_NTZ),
        Column("n", Type.INT64, nullable=True),
    )
)
ROW = (-1, 0.5, "é", 2**64 - 1)
DAY, NOON = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12)


@pytest.mark.parametrize(
    "rows",
    [
        [ROW],
        (list(ROW),),
        iter([ROW]),
        [dict(zip(SCHEMA.names, ROW, strict=True))],
        pa.table({"u": pa.array([2**64 - 1], pa.uint64()), "n": [-1], "f": [0.5], "s": ["é"]}),
        pa.table({"u": [decimal.Decimal(2**64 - 1)], "n": pa.array([-1], pa.int8()), "f": [0.5],
                  "s": pa.array(["é"]).dictionary_encode()}),
        pd.DataFrame([ROW], columns=SCHEMA.names).astype({"u": "uint64"}),
        [(np.int32(-1), np.float32(0.5), "é", np.uint64(2**64 - 1))],
    ],
    ids=["tuples", "lists", "iterator", "dicts", "arrow", "narrow arrow", "pandas", "numpy"],
)  # fmt: skip
def test_the_same_row_in_every_form(rows):
    table = to_table("t", SCHEMA, rows)
    assert table.schema == SCHEMA.to_arrow()
    assert [tuple(row.values()) for row in table.to_pylist()] == [ROW]


def test_types_that_only_sql_has():
    table = to_table("t", EVERYTHING, [(True, DAY, NOON, None), (False, DAY, NOON, 7)])
    assert table.to_pylist()[0] == {"b": True, "d": DAY, "t": NOON, "n": None}


def test_no_rows():
    for rows in ([], iter(()), pa.table({name: pa.array([], pa.null()) for name in SCHEMA.names})):
        table = to_table("t", SCHEMA, rows)
        assert (len(table), table.schema) == (0, SCHEMA.to_arrow())


def test_rows_without_columns():
    assert len(to_table("t", Schema(()), [(), ()])) == 2


def test_integers_stand_for_floats():
    assert to_table("t", Schema.of(f=Type.FLOAT64), [(1,), (2.5,)]).to_pylist() == [{"f": 1.0}, {"f": 2.5}]


NUMBER = Schema.of(x=Type.INT64)


@pytest.mark.parametrize(
    ("schema", "rows", "words"),
    [
        (NUMBER, [(1,), (1.5,)], "table t, row 2, column x: 1.5 is not whole; round it first, or have it rounded"),
        (NUMBER, [(math.nan,)], "table t, row 1, column x: expected a number, found nan (float)"),
        (NUMBER, [(True,)], "table t, row 1, column x: expected a number, found True (bool)"),
        (NUMBER, [("1",)], "table t, row 1, column x: expected a number, found '1' (str)"),
        (NUMBER, [(None,)], "table t, row 1, column x: expected a number, found null"),
        (NUMBER, [(2**63,)], "table t, row 1, column x: 9223372036854775808 is out of range for a number"),
        (Schema.of(u=Type.UINT64), [(-1,)], "table t, row 1, column u: -1 is out of range for an unsigned number"),
        (Schema.of(f=Type.FLOAT64), [(True,)], "column f: expected a float, found True (bool)"),
        (Schema.of(s=Type.STRING), [(b"a",)], "column s: expected a string, found b'a' (bytes)"),
        (Schema.of(s=Type.STRING), [("\ud800",)], "column s: '\\ud800' holds half of a surrogate pair"),
        (EVERYTHING, [(1, DAY, NOON, 1)], "column b: expected true or false, found 1 (int)"),
        (EVERYTHING, [(True, NOON, NOON, 1)], "column d: 2024-02-29 12:00:00 is not midnight, so that no date"),
        (NUMBER, [(1, 2)], "table t, row 1: expected 1 value, found 2: (1, 2)"),
        (
            NUMBER,
            [1],
            "table t, row 1: expected a tuple or a dict, found 1\n  hint: a row of one value is written (value,)",
        ),
        (
            EVERYTHING,
            (True, DAY),
            "row 1: expected a tuple or a dict, found True\n  hint: a single row is given as [row]",
        ),
        (NUMBER, [{"y": 1}], "table t, row 1: there is no column y"),
        (NUMBER, [{}], "table t, row 1, column x is missing"),
        (NUMBER, "rows", "table t: expected rows, found str"),
        (NUMBER, {"x": 1}, "table t: expected rows, found dict\n  hint: a single row is given as [row]"),
        (NUMBER, pa.table({"X": [1]}), "table t, column x is missing\n  hint: there is a column X"),
        (NUMBER, pa.table({"x": [1], "y": [1]}), "table t: there is no column y"),
        (NUMBER, pa.table({"x": ["1"]}), "table t, column x: expected a number, found a column of type string"),
        (NUMBER, pa.table({"x": [1, None]}), "table t, row 2, column x: expected a number, found null"),
        (
            NUMBER,
            pa.table({"x": pa.array([1, 2**63], pa.uint64())}),
            "table t, row 2, column x: 9223372036854775808 is",
        ),
        (NUMBER, pa.table([[1], [2]], ["x", "x"]), "table t: there are several columns x"),
        (NUMBER, pd.DataFrame([[1, 2]], columns=["x", "x"]), "table t: there are several columns x"),
        (
            NUMBER,
            pd.Series([1], name="x"),
            "table t: expected rows, found a single column (Series)",
        ),
        (NUMBER, pa.array([1]), "table t: expected rows, found a single column (Int64Array)"),
        (NUMBER, pd.DataFrame({"x": [1, "a"]}), "table t, row 2, column x: expected a number, found 'a' (str)"),
    ],
)
def test_rows_that_do_not_fit(schema, rows, words):
    with pytest.raises(DataError) as caught:
        to_table("t", schema, rows)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            pa.table({"x": [1]}),
            "table t: neither an insertion nor a deletion: expected a column op with + or -",
        ),
        (pa.table({"x": [1, 2], "__weight__": [1, 0]}), "table t, row 2, column __weight__: expected an integer other"),
        (
            pa.table({"x": [1], "op": ["*"]}),
            "row 1, column op: expected one of +, insert, i, c, r, -, delete, d",
        ),
        ([(1, 1)], "table t, row 1: expected a dict or its JSON, found (1, 1)"),
    ],
)
def test_weighted_changes_that_do_not_fit(rows, words):
    with pytest.raises(DataError) as caught:
        to_table("t", NUMBER, rows, signed=True)
    assert words in str(caught.value)


NOONS = [NOON.replace(year=year, day=1) for year in (1, 9999)]
YEAR_10000, YEAR_0 = 253_402_300_800, -62_135_596_801


@pytest.mark.parametrize(
    ("type_", "number"),
    [
        (pa.timestamp("us"), YEAR_10000 * 1_000_000),
        (pa.timestamp("us", "UTC"), YEAR_0 * 1_000_000),
        (pa.timestamp("s"), 2**50),
        (pa.timestamp("s", "Asia/Tokyo"), YEAR_10000),
    ],
)
@pytest.mark.parametrize("form", ["column", "dictionary", "array", "struct", "map", "file"])
def test_times_of_years_that_python_does_not_have(type_, number, form, tmp_path):
    zone = Type.TIMESTAMP if type_.tz else Type.TIMESTAMP_NTZ
    noons = pa.array([noon.replace(tzinfo=datetime.UTC) if type_.tz else noon for noon in NOONS], type_)
    times = pa.chunked_array([noons, pa.array([number], pa.int64()).cast(type_)])
    wanted = zone
    if form == "dictionary":
        times = times.dictionary_encode()
    if form == "array":
        times, wanted = pa.ListArray.from_arrays([0, 1, 2, 3], times.combine_chunks()), Type.array(zone)
    if form == "struct":
        times, wanted = pa.StructArray.from_arrays([times.combine_chunks()], ["at"]), Type.struct([Column("at", zone)])
    if form == "map":
        times = pa.MapArray.from_arrays([0, 1, 2, 3], [1, 2, 3], times.combine_chunks())
        wanted = Type.map(Type.INT64, zone)
    rows, schema = pa.table({"at": times}), Schema((Column("at", wanted, nullable=True),))
    assert len(to_table("t", schema, rows.slice(0, 2))) == 2
    if form == "file":
        pq.write_table(rows, tmp_path / "t.parquet")
        rows = tmp_path / "t.parquet"
    with pytest.raises(DataError) as caught:
        to_table("t", schema, rows)
    assert "row 3, column at: " in str(caught.value)
    assert "before the year 1 or after the year 9999" in str(caught.value)


@pytest.mark.parametrize("type_", [pa.date32(), pa.date64()])
@pytest.mark.parametrize("day", [2_932_897, -719_163])
def test_dates_of_years_that_python_does_not_have(type_, day):
    ends = pa.array([datetime.date.min, datetime.date.max], type_)
    number = pa.array([day], pa.int32()) if type_ == pa.date32() else pa.array([day * 86_400_000], pa.int64())
    rows = pa.table({"d": pa.chunked_array([ends, number.cast(type_)])})
    schema = Schema.of(d=Type.DATE)
    assert to_table("t", schema, rows.slice(0, 2))["d"].to_pylist() == [datetime.date.min, datetime.date.max]
    with pytest.raises(DataError, match=r"row 3, column d: .* is before the year 1 or after the year 9999"):
        to_table("t", schema, rows)


def test_spans_that_python_does_not_have():
    rows = pa.table({"d": pa.array([1, 2**62], pa.int64()).cast(pa.duration("s"))})
    with pytest.raises(DataError, match="row 2, column d: the interval is longer than"):
        to_table("t", Schema.of(d=Type.DAY_TIME_INTERVAL), rows)


@pytest.mark.parametrize("form", [lambda rows: rows, lambda rows: pa.table({"x": [x for (x,) in rows]})])
def test_rows_that_do_not_fit_are_told_by_their_values_and_counted(form):
    with pytest.raises(DataError) as caught:
        to_table("t", NUMBER, form([(2**40 if n % 2 else None,) for n in range(24)]))
    told = str(caught.value).splitlines()
    assert told[1] == "table t, row 3, column x: expected a number, found null; the row is (None,)"
    assert told[10:] == ["these are the first 10 of 12 rows that do not fit table t"]


@pytest.mark.parametrize(
    "column",
    [
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([None, 4], pa.int64())),
        pa.array([None, None, 4], pa.int64()).dictionary_encode(),
    ],
    ids=["runs", "dictionary"],
)
def test_rows_of_any_encoding_are_told(column):
    with pytest.raises(DataError, match=r"row 1, column x: expected a number, found null"):
        to_table("t", NUMBER, pa.table({"x": column}))


def test_weights_are_whole_decimals_too():
    rows = pa.table({"x": pa.array([1, 2], pa.int64()), "__weight__": pa.array([1, -1], pa.decimal128(3, 0))})
    assert to_table("t", NUMBER, rows, signed=True)["__weight__"].to_pylist() == [1, -1]


@pytest.mark.parametrize("signed", [False, True])
def test_up_to_ten_dicts_that_do_not_fit_are_told(signed):
    op, schema = {"op": "+"} if signed else {}, Schema.of(x=Type.INT64, y=Type.STRING)
    bad = [{**op, "x": "a", "y": "b"}, {**op, "x": 1}, {**op, "x": 1, "y": "b", "z": 2}]
    with pytest.raises(DataError) as error:
        to_table("t", schema, [{**op, "x": 1, "y": "a"}, *bad * 4], signed)
    parts = [diagnostic.message for diagnostic in error.value.diagnostics]
    assert [message.partition(":")[0].partition(",")[2].split(",")[0] for message in parts[:-1]] == [
        f" row {number}" for number in range(2, 12)
    ]
    assert parts[-1] == "these are the first 10 of 12 rows that do not fit table t"
    assert "there is no column z" in parts[2]


@pytest.mark.parametrize("coerce", [False, True])
def test_a_header_is_recognized_with_and_without_rounding(tmp_path, coerce):
    path = tmp_path / "sale.csv"
    path.write_text("id,price\n1,2.50\n")
    pipeline = deltic.Pipeline()
    pipeline.table("sale", {"id": "int64", "price": "decimal(10, 2)"})
    with pytest.raises(DataError, match="this looks like a header: headers=true"), pipeline.transaction() as change:
        change.insert("sale", path, coerce=coerce)


@pytest.mark.parametrize("coerce", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_decimals_are_kept_or_refused_one_by_one(seed, coerce):
    """With other digits in each row: those before the point must fit, those after it fit, are zeros, or are rounded."""
    rng, schema = random.Random(seed), Schema((Column("d", Type.decimal(5, 2), nullable=True),))
    digits = ["0", "-0.00", "1.5", "-999.99", "1.250", "7E+2", "12.345", "1000", "1E-3", "NaN", "Infinity", None]
    fit, kept = digits[:6], 0
    for _ in range(60):
        texts = rng.choices(digits if rng.random() < 0.5 else [*fit, None], k=rng.randint(1, 5))
        rows = [(None if text is None else decimal.Decimal(text),) for text in texts]
        rounding = Rounding() if coerce else None
        fits = [*fit, None, *(["12.345", "1E-3"] if coerce else [])]
        if wrong := [number for number, text in enumerate(texts, 1) if text not in fits]:
            with pytest.raises(DataError) as refused:
                to_table("t", schema, rows, rounding=rounding)
            assert [f"row {number}," in str(refused.value) for number in wrong] == [True] * len(wrong)
        else:
            cent = decimal.Decimal("0.01")
            expected = [None if d is None else d.quantize(cent, decimal.ROUND_HALF_UP) for (d,) in rows]
            assert to_table("t", schema, rows, rounding=rounding).column("d").to_pylist() == expected
            kept += 1
    assert 10 < kept < 50
