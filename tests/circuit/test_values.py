"""Values of every type: through Arrow and back, and their order.

Catches a type that loses values on its way through Arrow, and an order that is not Spark's.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.reading import parse_circuit
from deltic.pipeline.spark.spark import to_dataframe
from deltic.values import from_arrow, in_order, of_python, to_arrow
from deltic.values.types import Column, Schema, Type
from tests.circuit.random_values import TYPES, bits, nullable

NAN, INF = math.nan, math.inf
PAIR = Type.struct([Column("a", Type.INT64, True), Column("b", Type.STRING, True)])


@given(st.data())
def test_values_come_back_from_arrow(data):
    type_ = data.draw(TYPES)
    values = data.draw(st.lists(nullable(type_.or_null), max_size=4))
    column = to_arrow(values, type_)
    assert column.type == type_.arrow
    column.validate(full=True)
    assert list(map(bits, from_arrow(column, type_))) == list(map(bits, values))
    assert len({hash(value) for value in values}) <= len(values)


@given(st.data())
def test_values_come_back_from_the_text_of_a_constant(data):
    columns = tuple(Column(f"c{i}", data.draw(TYPES), nullable=True) for i in range(data.draw(st.integers(1, 2))))
    rows = data.draw(st.lists(st.tuples(*(nullable(c.value_type) for c in columns)), max_size=2))
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(ops.Constant(Schema(columns), tuple(rows))))
    (constant, _) = parse_circuit(str(builder.build())).operators
    assert list(map(bits, constant.rows)) == list(map(bits, rows))


# Each line is in Spark's ascending order; equal values share a tuple.
IN_ORDER = {
    "boolean": [(False,), (True,)],
    "integer": [(-(2**63),), (-1,), (0,), (2**64,)],
    "float": [(-INF,), (-1.5,), (-0.0, 0.0), (5e-324,), (INF,), (NAN, -NAN)],
    "decimal": [(Decimal("-1.5"),), (Decimal("1"), Decimal("1.00")), (Decimal("1.01"),)],
    "text": [("",), ("A",), ("B",), ("a",), ("aa",), ("é",), ("\uffff",), ("\U0001f600",)],
    "binary": [(b"",), (b"\x00",), (b"\x00\x01",), (b"\x7f",), (b"\x80",), (b"\xff",)],
    "date": [(date(1, 1, 1),), (date(2026, 1, 1),)],
    "instant": [(datetime(2026, 1, 1, tzinfo=UTC),), (datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),)],
    "interval": [(timedelta(days=-1),), (timedelta(0),), (timedelta(days=1), timedelta(hours=24))],
    "array": [((),), ((None,),), ((None, 5),), ((1,),), ((1, None),), ((1, 2),), ((2,),)],
    "array of floats": [((None,),), ((-0.0,), (0.0,)), ((INF,),), ((NAN,), (NAN,))],
    "struct": [((None, None),), ((None, "a"),), ((1, None),), ((1, "a"),), ((1, "b"),), ((2, None),)],
    "nested": [(((), None),), (((None,), None),), (((1,), None),), (((1,), (NAN,)),)],
}


@pytest.mark.parametrize("line", IN_ORDER.values(), ids=IN_ORDER)
def test_the_order_is_spark_s(line):
    ranked = [(rank, value) for rank, equal in enumerate(line) for value in equal]
    for i, a in ranked:
        for j, b in ranked:
            assert (in_order(a) < in_order(b)) == (i < j), (a, b)
            assert (in_order(a) == in_order(b)) == (i == j), (a, b)


TYPES_IN_ORDER = {
    "boolean": Type.BOOLEAN,
    "integer": Type.decimal(20, 0),
    "float": Type.FLOAT64,
    "decimal": Type.decimal(3, 2),
    "text": Type.STRING,
    "binary": Type.BINARY,
    "date": Type.DATE,
    "instant": Type.TIMESTAMP,
    "interval": Type.DAY_TIME_INTERVAL,
    "array": Type.array(Type.INT64.or_null),
    "array of floats": Type.array(Type.FLOAT64.or_null),
    "struct": PAIR,
    "nested": Type.struct([Column("x", Type.array(Type.INT64.or_null)), Column("y", Type.array(Type.FLOAT64), True)]),
}


def test_spark_sorts_and_ranks_like_this(spark):
    """Equal values have one rank in Spark, and the ranks go as the lines above say."""
    for name, line in IN_ORDER.items():
        ranked = [(rank, value) for rank, equal in enumerate(line, 1) for value in equal]
        column = to_arrow([value for _, value in ranked], TYPES_IN_ORDER[name])
        table = pa.table({"rank": pa.array([rank for rank, _ in ranked]), "x": column})
        to_dataframe(spark, table).createOrReplaceTempView("ranked")
        found = spark.sql("SELECT rank, dense_rank() OVER (ORDER BY x) AS by_spark FROM ranked").collect()
        assert [row.rank for row in found] == [row.by_spark for row in found], name


@given(st.lists(st.text(max_size=4), max_size=5))
def test_text_is_ordered_by_its_bytes(texts):
    assert sorted(texts, key=in_order) == sorted(texts, key=lambda text: text.encode())


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ({"b": "x", "a": 1}, PAIR, (1, "x")),
        ((1, None), PAIR, (1, None)),
        ({"k": 2, "j": 1}, Type.map(Type.STRING, Type.INT64), (("j", 1), ("k", 2))),
        ([("k", 2), ("j", 1)], Type.map(Type.STRING, Type.INT64), (("k", 2), ("j", 1))),
        ([[1], []], Type.array(Type.array(Type.INT64)), ((1,), ())),
        (pa.MonthDayNano([14, 0, 0]), Type.YEAR_MONTH_INTERVAL, 14),
        (None, PAIR, None),
    ],
)
def test_python_values_in_rows(value, type_, expected):
    assert of_python(value, type_) == expected


def test_an_instant_is_one_in_any_time_zone():
    there = datetime.fromisoformat("2026-01-01T01:00:00+01:00")
    found = of_python(there, Type.TIMESTAMP)
    assert found == there
    assert found.tzinfo is UTC
