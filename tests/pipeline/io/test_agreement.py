"""What Arrow reads at once, here and in Spark's tasks, agrees with the definition of a line.

Catches a line that is taken whole and means something else by itself. The lines are made of what tells the
implementations apart: delimiters, quotes, signs, blanks, special floats, limits of integers.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltic.pipeline.io.layout import FileKind, FileLayout
from deltic.pipeline.io.locate import TableFiles
from deltic.pipeline.io.objects import parse_json
from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.records import starts
from deltic.pipeline.io.splits import FileSplit, joined
from deltic.pipeline.io.stretch import at_once, parse
from deltic.pipeline.io.text import parse_line
from deltic.values.types import Schema, Type

SCHEMA = Schema.of(x=Type.INT64, y=Type.STRING, z=Type.FLOAT64, u=Type.UINT64)
LAYOUTS = [
    FileLayout(SCHEMA, signed=signed, delimiter=delimiter, rfc4180=rfc4180)
    for signed in (False, True)
    for delimiter, rfc4180 in [("\t", False), (",", False), ("::", False), (",", True), ("|", True)]
]
NUMBERS = ["1", "-1", "+7", " 2 ", "", "x", "0x10", "9" * 19, "18446744073709551615", "18446744073709551616", "-0"]
SYMBOLS = ["a", "", " ", "é", '"', '""', '"a"', '"a"b', 'a"', "+", "-", "\u2028", "a\rb"]
FLOATS = ["1.5", "-.5", "5.", "inf", "-Infinity", "nan", "1e999", "-1e999", "1e-999", "1f", "", "x"]


def lines_of(layout: FileLayout):
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
    """What the definition says: the rows with their weights, counted, and the positions of the malformed lines.

    Where fields may stand in quotes a row may be several lines; which ones, `test_souffle_files` checks.
    """
    rows, bad = Counter(), []
    for position, line in rows_of(lines, layout):
        text = line.removesuffix("\r")
        if not text and not layout.keeps_blank_lines:
            continue
        try:
            row, weight = parse_line(text, layout)
            rows[repr((*row, weight) if layout.signed else row)] += 1
        except Malformed:
            bad.append(position)
    return rows, bad


def rows_of(lines, layout):
    """The rows, each with the position of its first line."""
    if not layout.rfc4180:
        return list(enumerate(lines))
    data = data_of(lines)
    ends = [*starts(data, layout), len(data)]
    return [(data.count(b"\n", 0, a), data[a : b - 1].decode()) for a, b in pairwise(ends)]


def counted(table):
    return Counter(repr(tuple(row.values())) for row in table.to_pylist())


def data_of(lines):
    return "".join(line + "\n" for line in lines).encode()


def check_at_once(lines, layout, meaning):
    """What is taken at once has no malformed line, and the rows that its lines have one by one."""
    table = at_once(data_of(lines), layout)
    if table is not None:
        assert (counted(table), []) == meaning


@given(st.data())
def test_what_arrow_reads_at_once_agrees_with_the_definition(data):
    layout = LAYOUTS[data.draw(st.sampled_from(range(len(LAYOUTS))))]
    lines = data.draw(st.lists(lines_of(layout), min_size=1, max_size=3))
    check_at_once(lines, layout, expected(lines, layout))


@given(st.sampled_from(range(len(LAYOUTS))), st.sampled_from(NUMBERS), st.sampled_from(FLOATS))
def test_single_values_agree(chosen, number, float_):
    """Each value in a line that is well-formed but for it."""
    layout = LAYOUTS[chosen]
    sign = "+" if layout.signed else ""
    lines = [sign + layout.delimiter.join(["1", "a", "1.5", "1"])] * 2
    for field, value in ((0, number), (2, float_), (3, number)):
        fields = ["1", "a", "1.5", "1"]
        fields[field] = value
        mixed = [*lines, sign + layout.delimiter.join(fields)]
        check_at_once(mixed, layout, expected(mixed, layout))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda each: f"{each.delimiter!r}-{each.rfc4180}-{each.signed}")
def test_clean_lines_are_read_at_once(layout):
    """Otherwise the agreement would be one of nothing, and reading slow."""
    quotes = ['"q' + layout.delimiter + '""q"', ""] if layout.rfc4180 else ["q", 'a"b', "0x10"]
    rows = [layout.delimiter.join(["-1", text, "inf", " 7 "]) + end for text in quotes for end in ("", "\r")]
    for sign in ["+", "-" + layout.delimiter] if layout.signed else [""]:
        lines = [sign + row for row in rows]
        assert at_once(data_of(lines), layout) is not None
        check_at_once(lines, layout, expected(lines, layout))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda each: f"{each.delimiter!r}-{each.rfc4180}-{each.signed}")
def test_many_lines_agree_with_the_definition(reader, tmp_path, layout):
    """One file of many lines, cut by Spark into parts: a job for each example would take minutes."""
    lines = random_lines(layout, 3000)
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    batch = reader.read(TableFiles("rows", (path,), layout), None)
    assert (counted(batch.table), [d.line - 1 for d in batch.rejects]) == expected(lines, layout)


def random_lines(layout, count):
    generator = random.Random(layout.delimiter + str(layout.rfc4180))
    quoted = [f'"q{layout.delimiter}q"', '"say ""hi"""'] if layout.rfc4180 else []
    fields = [NUMBERS, [*SYMBOLS, *quoted], FLOATS, NUMBERS]
    signs = ["+", "-", f"+{layout.delimiter}", f"-{layout.delimiter}"] * 3 + ["", "*"] if layout.signed else [""]
    rows = [layout.delimiter.join(map(generator.choice, fields)) for _ in range(count)]
    return [generator.choice(signs) + row + generator.choice(["", "", "", "\r", layout.delimiter]) for row in rows]


SPLIT = FileSplit("rows.json", Path("rows.json"))
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


OPTIONAL = [None, {}, {"y": None, "u": 5}]
"""What rows may leave out, of the columns of `MAY_LACK`."""
MAY_LACK = Schema.of(x=Type.INT64, y=Type.STRING.or_null, z=Type.FLOAT64, u=Type.UINT64)


@example(['{"x": 0, "y": "", "z": 0.0, "u": 0, "op": "+", "__weight__": 0}'], True, None)
@example(['{"x": 0, "z": 0.0, "u": 0}'], False, OPTIONAL[2])
@given(st.lists(JSON_LINES, max_size=6), st.booleans(), st.sampled_from(OPTIONAL))
def test_many_lines_of_json_agree_with_one(lines, signed, optional):
    layout = FileLayout(SCHEMA if optional is None else MAY_LACK, FileKind.JSON, signed, optional=optional)
    rows, bad = Counter(), []
    for position, line in enumerate(lines):
        try:
            if line.strip():
                for row, weight in parse_json(line, layout):
                    values = [float(v) if c.type is Type.FLOAT64 else v for v, c in zip(row, SCHEMA, strict=True)]
                    rows[repr((*values, weight) if signed else tuple(values))] += 1
        except Malformed:
            bad.append(position)
    check_at_once(lines, layout, (rows, bad))
    batch = joined(((SPLIT, batch) for batch in parse(data_of(lines), 1, layout, "file")), layout, None)
    assert (counted(batch.table), [found.line - 1 for found in batch.rejects]) == (rows, bad)


@pytest.mark.parametrize("line", ['{"a": 51, "bb": "x"}', '{"a": 51}', '{"a": 51, "c": {"b": "x"}}'])
def test_a_line_without_a_nullable_column_is_malformed_among_many(line):
    layout = FileLayout(Schema.of(a=Type.INT64, b=Type.STRING.or_null), FileKind.JSON)
    lines = [json.dumps({"a": n, "b": "x" if n % 2 else None}) for n in range(50)]
    assert at_once(data_of(lines), layout) is not None
    assert at_once(data_of([*lines, line]), layout) is None


def test_many_lines_may_leave_out_a_nullable_column_and_have_no_other():
    layout = FileLayout(Schema.of(a=Type.INT64, b=Type.STRING.or_null), FileKind.JSON, optional={"b": None})
    lines = [json.dumps({"a": n, "b": "x"} if n % 2 else {"a": n}) for n in range(50)]
    assert at_once(data_of(lines), layout).column("b").null_count == 25
    assert at_once(data_of([*lines, '{"a": 51, "bb": "x"}']), layout) is None
