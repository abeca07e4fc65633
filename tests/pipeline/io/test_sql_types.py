"""Delimited text of the types that SQL's tables have, read at once and line by line, and written.

Catches a field that Arrow reads and the definition does not, or reads otherwise; a NULL that becomes something else.
"""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.pipeline.io.delimited import at_once
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.parsed import Malformed, rows_to_table
from deltic.pipeline.io.render import text_lines
from deltic.pipeline.io.text import parse_line
from deltic.values.types import Column, Schema, Type

FIELDS = {
    Type.INT8: ["1", "-128", "128", "+7", " 2 ", "1.0", "x", "0x1"],
    Type.INT32: ["2147483647", "2147483648", "-5"],
    Type.FLOAT32: ["1.5", "0.1", "1e39", "inf", "nan", "16777217", "x"],
    Type.decimal(6, 2): ["1", "1.50", "1234.56", "12345.6", "1.555", "-.5", "1e2", "x", "5."],
    Type.BOOLEAN: ["true", "FALSE", "True", "1", "t", " false "],
    Type.DATE: ["2024-02-29", "2023-02-29", "2024-2-1", "0001-01-01", " 2024-01-01 ", "2024-01-01x"],
    Type.TIMESTAMP_NTZ: [
        "2024-01-01 10:20:30",
        "2024-01-01T10:20:30.5",
        "2024-01-01",
        "2024-01-01 10:20",
        "2024-01-01Z",
    ],
    Type.TIMESTAMP: ["2024-01-01 10:20:30", "2024-01-01 10:20:30Z", "2024-01-01 10:20:30.25+02:00", "2024-01-01 25:00"],
    Type.TIME: ["10:20", "10:20:30.5", " 23:59:59.999999", "24:00", "1:2", "10:20Z"],
    Type.STRING: ["a", " ", "é"],
}
TYPES = st.sampled_from(list(FIELDS))


@given(st.data())
def test_at_once_or_line_by_line(data):
    types = data.draw(st.lists(st.tuples(TYPES, st.booleans()), min_size=1, max_size=3))
    schema = Schema(tuple(Column(f"c{i}", type_, nullable) for i, (type_, nullable) in enumerate(types)))
    fields = st.tuples(*(st.sampled_from([*FIELDS[type_], ""]) for type_, _ in types))
    lines = data.draw(st.lists(fields.map(",".join).filter(bool), min_size=1, max_size=4))
    layout = FileLayout(schema, delimiter=",")
    found = at_once("".join(f"{line}\n" for line in lines).encode(), layout)
    if found is not None:
        rows = [parse_line(line, layout) for line in lines if line or layout.keeps_blank_lines]
        assert repr(found.to_pylist()) == repr(rows_to_table(rows, schema, False).to_pylist())


VALUES = {
    Type.INT8: st.integers(-128, 127),
    Type.INT32: st.integers(-(2**31), 2**31 - 1),
    Type.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    Type.decimal(6, 2): st.integers(-(10**6) + 1, 10**6 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    Type.BOOLEAN: st.booleans(),
    Type.DATE: st.dates(),
    Type.TIME: st.times(),
    Type.TIMESTAMP_NTZ: st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 1, 1)),
    Type.TIMESTAMP: st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 1, 1)),
}


@pytest.mark.parametrize("number", range(len(VALUES)), ids=list(map(str, VALUES)))
@given(st.data())
def test_what_was_written_is_read_at_once(number, data):
    type_ = list(VALUES)[number]
    schema = Schema.of(a=type_.or_null, b=Type.STRING)
    found = data.draw(st.lists(st.none() | VALUES[type_], min_size=1, max_size=5))
    if type_ is Type.TIMESTAMP:
        found = [value and value.replace(tzinfo=datetime.UTC) for value in found]
    table = rows_to_table([((value, "x"), 1) for value in found], schema, False)
    lines = text_lines(table, ",", False).to_pylist()
    read = at_once("".join(f"{line}\n" for line in lines).encode(), FileLayout(schema, delimiter=","))
    assert read is not None
    assert read.to_pylist() == table.to_pylist()


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (Type.decimal(4, 1), "1.5", Decimal("1.5")),
        (Type.BOOLEAN, "TRUE", True),
        (Type.DATE, "2024-02-29", datetime.date(2024, 2, 29)),
        (Type.TIMESTAMP, "2024-01-01 12:00:00", datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)),
        (Type.STRING, "", None),
    ],
)
def test_single_fields(type_, text, value):
    assert parse_line(f"{text},", FileLayout(Schema.of(a=type_.or_null, b=Type.INT8.or_null), delimiter=",")) == (
        (value, None),
        1,
    )


@pytest.mark.parametrize(
    ("type_", "text", "told"),
    [
        (Type.decimal(4, 1), "1.55", "more digits"),
        (Type.DATE, "2023-02-29", "expected a date"),
        (Type.BOOLEAN, "yes", "expected true or false"),
        (Type.INT8, "128", "out of range"),
        (Type.INT8, "", "an empty field"),
    ],
)
def test_malformed_fields(type_, text, told):
    with pytest.raises(Malformed, match=told):
        parse_line(f"{text},1", FileLayout(Schema.of(a=type_, b=Type.INT64), delimiter=","))


def test_lists_are_not_written_as_text():
    with pytest.raises(Exception, match="--format json"):
        text_lines(pa.table({"a": pa.array([[1]])}), ",", False)
