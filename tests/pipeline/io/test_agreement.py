"""The readers that work on columns, in Arrow and in Spark SQL, agree with the definition of a line.

Catches a row that one reader takes and another refuses or reads differently. The lines are made of what tells the
implementations apart: delimiters, quotes, signs, blanks, special floats, limits of integers.
"""

from __future__ import annotations

import json
import random
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.circuit.types import Schema, Type
from deltic.pipeline.io.json_lines import parse_json_lines
from deltic.pipeline.io.layout import Kind, Layout
from deltic.pipeline.io.locate import Files
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.objects import parse_json
from deltic.pipeline.io.text import parse_line
from deltic.pipeline.io.text_columns import parse_lines

SCHEMA = Schema.of(x=Type.INT64, y=Type.STRING, z=Type.FLOAT64, u=Type.UINT64)
LAYOUTS = [
    Layout(SCHEMA, signed=signed, delimiter=delimiter, rfc4180=rfc4180)
    for signed in (False, True)
    for delimiter, rfc4180 in [("\t", False), (",", False), ("::", False), (",", True), ("|", True)]
]
NUMBERS = ["1", "-1", "+7", " 2 ", "", "x", "0x10", "9" * 19, "18446744073709551615", "18446744073709551616", "-0"]
SYMBOLS = ["a", "", " ", "é", '"', '""', '"a"', '"a"b', 'a"', "+", "-", "\u2028", "a\rb"]
FLOATS = ["1.5", "-.5", "5.", "inf", "-Infinity", "nan", "1e999", "-1e999", "1e-999", "1f", "", "x"]


def lines_of(layout: Layout):
    """Lines that are often well-formed, and often nearly so."""
    delimiter = layout.delimiter
    quoted = [f'"q{delimiter}q"', '"say ""hi"""'] if layout.rfc4180 else []
    fields = [NUMBERS, [*SYMBOLS, *quoted], FLOATS, NUMBERS]
    row = st.tuples(*map(st.sampled_from, fields)).map(delimiter.join)
    signs = ["+", "-", f"+{delimiter}", f"-{delimiter}", "", "*"] if layout.signed else [""]
    well = st.tuples(st.sampled_from(signs), row, st.sampled_from(["", "\r", delimiter])).map("".join)
    pieces = st.lists(st.sampled_from([delimiter, '"', "+", "-", "1", "a", "\r", " "]), max_size=8).map("".join)
    return well | pieces


def expected(lines, layout):
    """What the definition says: the rows with their weights, counted, and the positions of the malformed lines."""
    rows, bad = Counter(), []
    for position, line in enumerate(lines):
        text = line.removesuffix("\r")
        if not text and not layout.keeps_blank_lines:
            continue
        try:
            row, weight = parse_line(text, layout)
            rows[repr((*row, weight) if layout.signed else row)] += 1
        except Malformed:
            bad.append(position)
    return rows, bad


def counted(table):
    return Counter(repr(tuple(row.values())) for row in table.to_pylist())


@given(st.data())
def test_arrow_kernels_agree_with_the_definition(data):
    layout = data.draw(st.sampled_from(LAYOUTS))
    lines = data.draw(st.lists(lines_of(layout), max_size=20))
    parsed = parse_lines(pa.array(lines, pa.large_string()), layout)
    assert (counted(parsed.table), parsed.bad) == expected(lines, layout)


@pytest.mark.spark
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda each: f"{each.delimiter!r}-{each.rfc4180}-{each.signed}")
def test_spark_sql_agrees_with_the_definition(spark, tmp_path, layout):
    """One job over many lines: a job for each example would take minutes."""
    from deltic.pipeline.io.spark_reader import SparkReader

    lines = random_lines(layout, 3000)
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    batch = SparkReader(spark).read(Files("rows", (path,), layout), None)
    assert (counted(batch.table), [d.line - 1 for d in batch.rejects]) == expected(lines, layout)


def random_lines(layout, count):
    generator = random.Random(layout.delimiter + str(layout.rfc4180))
    quoted = [f'"q{layout.delimiter}q"', '"say ""hi"""'] if layout.rfc4180 else []
    fields = [NUMBERS, [*SYMBOLS, *quoted], FLOATS, NUMBERS]
    signs = ["+", "-", f"+{layout.delimiter}", f"-{layout.delimiter}"] * 3 + ["", "*"] if layout.signed else [""]
    rows = [layout.delimiter.join(map(generator.choice, fields)) for _ in range(count)]
    return [generator.choice(signs) + row + generator.choice(["", "", "", "\r", layout.delimiter]) for row in rows]


OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "x": st.integers(-(2**64), 2**64) | st.sampled_from([1.0, 1.5, "1", None, True, [1]]),
        "y": st.text(max_size=4) | st.sampled_from(["\ud800", 1, None, "2020-01-01", ""]),
        "z": st.floats() | st.integers(-5, 5) | st.sampled_from(["1.5", None]),
        "u": st.integers(-1, 2**64),
        "op": st.sampled_from(["+", "-", "insert", "DELETE", "x", 1, None]),
        "__weight__": st.sampled_from([1, -1, 0, 3, None, "1"]),
        "other": st.sampled_from([1, {"x": 1}, [None]]),
    },
)
JSON_LINES = OBJECTS.map(json.dumps) | st.sampled_from(
    ["", " ", "{", "[]", "1", '{"x":1}{"x":1}', "null", "{}", "{} null"]
)


@given(st.lists(JSON_LINES, max_size=6), st.booleans())
def test_many_lines_of_json_agree_with_one(lines, signed):
    layout = Layout(SCHEMA, Kind.JSON, signed)
    rows, bad = Counter(), []
    for position, line in enumerate(lines):
        try:
            if line.strip():
                row, weight = parse_json(line, layout)
                values = [float(v) if c.type is Type.FLOAT64 else v for v, c in zip(row, SCHEMA, strict=True)]
                rows[repr((*values, weight) if signed else tuple(values))] += 1
        except Malformed:
            bad.append(position)
    parsed = parse_json_lines(pa.array(lines, pa.large_string()), layout)
    assert (counted(parsed.table), parsed.bad) == (rows, bad)
