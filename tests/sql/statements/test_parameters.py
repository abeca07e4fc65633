"""Parameters of statements: values of Python come back as they went in, and are never read as SQL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltic

UTC = dt.UTC
TIMES = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.dates(),
    TIMES,
    TIMES.map(lambda time: time.replace(tzinfo=UTC)),
    st.timedeltas(dt.timedelta(-(10**5)), dt.timedelta(10**5)),
    st.lists(st.integers(-9, 9)),
)
PIPELINE = deltic.Pipeline()


def answer(text: str, args: Any) -> list[tuple[Any, ...]]:
    return list(PIPELINE.sql(text, args))


@given(VALUES, VALUES)
def test_values_come_back_as_they_went_in(first: Any, second: Any) -> None:
    assert answer("SELECT :a, :b, :a", {"a": first, "b": second, "of no parameter": 1}) == [(first, second, first)]
    assert answer("SELECT ?, ?", [second, first]) == [(second, first)]


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (5, "int"),
        (-5, "int"),
        (2**31, "bigint"),
        (2**63, "decimal(19,0)"),
        (Decimal("5"), "int"),
        (Decimal("-1.50"), "decimal(3,2)"),
        (1.5, "double"),
        (np.int64(7), "int"),
        (np.float64(7), "double"),
        ("x", "string"),
        (b"x", "binary"),
        (dt.date(2026, 1, 2), "date"),
        (dt.datetime(2026, 1, 2, tzinfo=UTC), "timestamp"),
        (dt.datetime(2026, 1, 2), "timestamp_ntz"),
        ((1, 2), "array<int>"),
        ({"a": 1.5}, "map<string,double>"),
    ],
)
def test_a_value_has_the_type_of_its_literal(value: Any, type_: str) -> None:
    assert answer("SELECT typeof(?)", [value]) == [(type_,)]


def test_parameters_stand_wherever_a_value_does() -> None:
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (id INT PRIMARY KEY, name STRING, s STRUCT<a: INT>)")
    pipeline.sql("INSERT INTO t VALUES (:id, :name, struct(:a::INT))", {"id": 1, "name": "o'x", "a": 2})
    pipeline.sql("INSERT INTO t (id, name) VALUES (?, ?), (?, ?)", (2, "; DROP TABLE t --", -3, None))
    pipeline.sql("UPDATE t SET name = :new WHERE id = :id", {"new": "`\\n", "id": -3})
    assert sorted(pipeline.sql("SELECT id, name FROM t WHERE id IN (?, ?, ?) LIMIT ?", [1, 2, -3, 5])) == [
        (-3, "`\\n"),
        (1, "o'x"),
        (2, "; DROP TABLE t --"),
    ]
    with pipeline.transaction() as change:
        change.sql("DELETE FROM t WHERE name LIKE :like", {"like": "%DROP%"})
    merge = "MERGE INTO t USING (SELECT :id AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = :name"
    pipeline.sql(merge, {"id": 1, "name": "m"})
    with pipeline.snapshot() as snapshot:
        assert list(
            snapshot.query("SELECT s.a, date_add(DATE '2026-01-01', ?::INT) d FROM t WHERE name = ?", [1, "m"])
        ) == [(2, dt.date(2026, 1, 2))]
    assert list(pipeline.sql("SELECT INTERVAL ? DAY, s.a FROM t WHERE id = 1", [3])) == [(dt.timedelta(3), 2)]


@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        ("SELECT :a", None, "1:8: :a: the parameter has no value"),
        ("SELECT\n  ?", None, "2:3: ?: the parameter has no value"),
        ("SELECT :name", {"nmae": 1}, "did you mean `nmae`?"),
        ("SELECT ?, ?", [1], "1:11: ?: the parameter has no value"),
        ("SELECT ?", [1, 2], "there are 2 values for 1 parameter"),
        ("SELECT :a", [1], "the values of such parameters are a dict"),
        ("SELECT ?", {"a": 1}, "the values of such parameters are a list or tuple"),
        ("SELECT :a", {"a": object()}, "Python's type object is none of SQL"),
        ("SELECT :a", {"a": 10**38}, "the number has 39 digits"),
        ("SELECT :a", {"a": Decimal("NaN")}, "NaN is no DECIMAL"),
        ("CREATE VIEW v AS SELECT :a AS a", {"a": 1}, "1:25: :a: a definition takes no parameters"),
    ],
)
def test_what_is_wrong_with_parameters_is_told_with_its_place(text: str, args: Any, message: str) -> None:
    with pytest.raises(deltic.ProgramError) as raised:
        PIPELINE.sql(text, args)
    assert message in str(raised.value)
