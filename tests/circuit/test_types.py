"""Types and schemas."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deltic.circuit.types import BundleType, Column, Schema, Type, ZSetType


@pytest.mark.parametrize(
    ("type_", "arrow"),
    [
        (Type.INT64, pa.int64()),
        (Type.UINT64, pa.uint64()),
        (Type.FLOAT64, pa.float64()),
        (Type.STRING, pa.string()),
        (Type.BOOLEAN, pa.bool_()),
        (Type.DATE, pa.date32()),
        (Type.TIMESTAMP_NTZ, pa.timestamp("us")),
    ],
)
def test_arrow_type(type_, arrow):
    assert type_.arrow == arrow


def test_every_type_has_an_arrow_type():
    assert len({t.arrow for t in Type.simple()}) == len(Type.simple())


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
