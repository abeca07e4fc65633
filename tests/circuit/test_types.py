"""Types and schemas."""

from __future__ import annotations

import copy
import pickle
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as spark

from deltic.circuit import operators as ops
from deltic.circuit.edges import BundleType, ZSetType
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.reading import parse_circuit
from deltic.errors import ProgramError, UnsupportedError
from deltic.values.types import Column, Schema, Type
from deltic.values.types.arrow import type_of_arrow
from deltic.values.types.spark import spark_type, type_of_spark
from tests.circuit.random_values import TYPES


@given(TYPES)
def test_arrow_and_back(type_):
    assert type_of_arrow(type_.arrow) is type_


@pytest.mark.parametrize(
    ("arrow", "type_"),
    [
        (pa.large_string(), Type.STRING),
        (pa.string_view(), Type.STRING),
        (pa.large_binary(), Type.BINARY),
        (pa.binary(16), Type.BINARY),
        (pa.dictionary(pa.int8(), pa.string()), Type.STRING),
        (pa.timestamp("ns", "Europe/Paris"), Type.TIMESTAMP),
        (pa.timestamp("s"), Type.TIMESTAMP_NTZ),
        (pa.time32("s"), Type.TIME),
        (pa.duration("ns"), Type.DAY_TIME_INTERVAL),
        (pa.date64(), Type.DATE),
        (pa.float16(), Type.FLOAT32),
        (pa.decimal256(38, 2), Type.decimal(38, 2)),
        (pa.large_list(pa.int8()), Type.array(Type.INT8.or_null)),
        (pa.list_(pa.field("x", pa.int8(), nullable=False), 3), Type.array(Type.INT8)),
    ],
)
def test_other_layouts_of_arrow(arrow, type_):
    assert type_of_arrow(arrow) is type_


@pytest.mark.parametrize("arrow", [pa.decimal256(39, 2), pa.decimal128(5, -2), pa.null()])
def test_types_that_arrow_alone_has(arrow):
    with pytest.raises(UnsupportedError, match=r"Arrow's type .* is not supported"):
        type_of_arrow(arrow)


@given(TYPES)
def test_spark_and_back(type_):
    """Spark has no unsigned integers: they are the next wider integers there."""
    wider = str(type_)
    for narrow, wide in UNSIGNED.items():
        wider = re.sub(rf"(?<![\w\"]){narrow}\b", wide, wider)
    if "uint" not in str(type_):
        assert type_of_spark(spark_type(type_)) is type_
    elif '"' not in wider:
        assert str(type_of_spark(spark_type(type_))) == wider


UNSIGNED = {"uint8": "int16", "uint16": "int32", "uint32": "int64", "uint64": "decimal(20, 0)"}


@pytest.mark.parametrize(
    ("type_", "ddl"),
    [
        (Type.UINT64, "decimal(20,0)"),
        (Type.TIMESTAMP, "timestamp"),
        (Type.TIMESTAMP_NTZ, "timestamp_ntz"),
        (Type.TIME, "time(6)"),
        (Type.YEAR_MONTH_INTERVAL, "interval year to month"),
        (Type.array(Type.struct([Column("x", Type.UINT32)])), "array<struct<x:bigint>>"),
        (Type.map(Type.STRING, Type.BINARY), "map<string,binary>"),
    ],
)
def test_types_as_spark_calls_them(type_, ddl):
    assert spark_type(type_).simpleString() == ddl


def test_types_that_spark_alone_has():
    assert type_of_spark(spark.VarcharType(3)) is Type.STRING
    assert type_of_spark(spark.DayTimeIntervalType(1, 2)) is Type.DAY_TIME_INTERVAL
    with pytest.raises(UnsupportedError, match=r"Spark's type void is not supported"):
        type_of_spark(spark.NullType())


@given(st.lists(st.tuples(TYPES, st.booleans()), max_size=3))
def test_text_and_back(types):
    builder = CircuitBuilder()
    columns = tuple(Column(f"c{i}", type_, nullable) for i, (type_, nullable) in enumerate(types))
    builder.add(ops.Sink("v"), builder.add(ops.Source("s", Schema(columns))))
    circuit = builder.build()
    assert parse_circuit(str(circuit)) == circuit


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("decimal", "decimal is written decimal(precision, scale)"),
        ("decimal(39, 0)", "has 1 to 38 digits"),
        ("decimal(int8, 0)", "decimal is written decimal(precision, scale)"),
        ("int64(3)", "int64 is written int64"),
        ("array{x: int64}", "array is written array(type)"),
        ("map(int64?, int64)", "where the first is never NULL"),
        ("struct{x: int64, x: int64}", "distinct names, found x, x"),
        ("array(int46)", "there is no type `int46`"),
    ],
)
def test_texts_that_are_no_type(text, reason):
    with pytest.raises(ProgramError) as caught:
        parse_circuit(f"%0 = source s : set{{x: {text}}}")
    assert reason in str(caught.value)


def test_there_is_one_object_for_each_type():
    made = Type.map(Type.STRING, Type.array(Type.decimal(3, 1)).or_null)
    assert made is Type.map(Type.STRING, Type.array(Type.decimal(3, 1)).or_null)
    assert pickle.loads(pickle.dumps(made)) is made
    assert copy.deepcopy(made) is made
    assert made is not Type.map(Type.STRING, Type.array(Type.decimal(3, 1)))


def test_numeric_types():
    integers = {t for t in Type.simple() if t.is_integer}
    assert {str(t) for t in integers} == {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    assert {t for t in Type.simple() if t.is_numeric} == integers | {Type.FLOAT32, Type.FLOAT64}


def test_schema_keeps_its_order():
    schema = Schema.of(b=Type.INT64, a=Type.STRING)
    assert schema.names == ("b", "a")
    assert list(schema.types.items()) == [("b", Type.INT64), ("a", Type.STRING)]
    assert schema.index("a") == 1
    assert [c.name for c in schema] == ["b", "a"]
    assert len(schema) == 2


def test_schema_names_are_distinct():
    with pytest.raises(ValueError, match="distinct, found a, b, a"):
        Schema((Column("a", Type.INT64), Column("b", Type.INT64), Column("a", Type.STRING)))


def test_schema_has_no_such_column():
    with pytest.raises(KeyError, match="z"):
        Schema.of(a=Type.INT64).index("z")


def test_nullable_columns_show_in_arrow_and_text():
    schema = Schema((Column("a", Type.INT64), Column("b", Type.FLOAT64, nullable=True)))
    assert schema.to_arrow() == pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.float64())])
    assert str(schema) == "{a: int64, b: float64?}"


def test_nullary_schema():
    assert len(Schema(())) == 0
    assert str(Schema(())) == "{}"
    assert Schema(()).to_arrow() == pa.schema([])


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (ZSetType(Schema.of(a=Type.DATE)), "zset{a: date}"),
        (ZSetType(Schema.of(a=Type.DATE), is_set=True), "set{a: date}"),
        (ZSetType(Schema.of(a=Type.BOOLEAN), depth=2), "zset{a: boolean}^2"),
        (BundleType((("p", ZSetType(Schema(()))), ("q", ZSetType(Schema(()))))), "<p: zset{}, q: zset{}>"),
    ],
)
def test_edge_types_as_text(type_, text):
    assert str(type_) == text
