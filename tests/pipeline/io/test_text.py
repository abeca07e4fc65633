"""The definition of delimited text, by examples; catches a change of what a line means."""

from __future__ import annotations

import math

import pytest

from deltic.errors import UnsupportedError
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.text import check_types, parse_line
from deltic.values.types import Schema, Type

PAIR = Schema.of(x=Type.INT64, y=Type.STRING)


def row(line: str, schema: Schema = PAIR, **options):
    return parse_line(line, FileLayout(schema, **options))


@pytest.mark.parametrize(
    ("line", "options", "expected"),
    [
        ("1\ta", {}, (1, "a")),
        ("-1\t", {}, (-1, "")),
        ("+7\ta b ", {}, (7, "a b ")),
        (" 7 ,a", {"delimiter": ","}, (7, "a")),
        ("1::a", {"delimiter": "::"}, (1, "a")),
        ('1,"a', {"delimiter": ","}, (1, '"a')),
        ('1,"a,""b"""', {"delimiter": ",", "rfc4180": True}, (1, 'a,"b"')),
        ('1,a"b', {"delimiter": ",", "rfc4180": True}, (1, 'a"b')),
        ('"1",""', {"delimiter": ",", "rfc4180": True}, (1, "")),
        ("9223372036854775807\ta", {}, (2**63 - 1, "a")),
    ],
)
def test_fields_become_values(line, options, expected):
    assert row(line, **options) == (expected, 1)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("+\t1\ta", ((1, "a"), 1)),
        ("-\t1\ta", ((1, "a"), -1)),
        ("+1\ta", ((1, "a"), 1)),
        ("--1\ta", ((-1, "a"), -1)),
        ("-+1\ta", ((1, "a"), -1)),
    ],
)
def test_signs_stand_apart_or_in_front(line, expected):
    assert row(line, signed=True) == expected


def test_a_sign_in_front_of_an_empty_symbol_is_told_from_one_apart():
    symbols = Schema.of(x=Type.STRING, y=Type.STRING)
    assert row("+,a", symbols, delimiter=",", signed=True) == (("", "a"), 1)
    assert row("+,,a", symbols, delimiter=",", signed=True) == (("", "a"), 1)
    assert row("+", Schema.of(x=Type.STRING), signed=True) == (("",), 1)


def test_the_row_without_columns():
    nothing = Schema(())
    assert row("()", nothing) == ((), 1)
    assert row("-()", nothing, signed=True) == row("-\t()", nothing, signed=True) == ((), -1)
    with pytest.raises(Malformed, match="expected \\(\\)"):
        row("x", nothing)


@pytest.mark.parametrize("text", ["1", "-.5", "5.", "1e3", "+1.5E-3", "inf", "-Infinity", " 2 "])
def test_floats(text):
    assert row(text, Schema.of(x=Type.FLOAT64)) == ((float(text),), 1)


def test_nan_is_a_float():
    assert math.isnan(row("NaN", Schema.of(x=Type.FLOAT64))[0][0])


@pytest.mark.parametrize("text", ["", "1f", "0x1p3", "1_0", "e5", ".", "1e999", "١"])
def test_what_is_not_a_float(text):
    with pytest.raises(Malformed):
        row(text, Schema.of(x=Type.FLOAT64))


@pytest.mark.parametrize("text", ["", "1.0", "0x", "0b2", "1_0", "٣", "--1", "1 2", "9223372036854775808", "9" * 5000])
def test_what_is_not_a_number(text):
    with pytest.raises(Malformed):
        row(text, Schema.of(x=Type.INT64))


@pytest.mark.parametrize("text", ["-0", "-1", "18446744073709551616"])
def test_what_is_not_unsigned(text):
    assert row("18446744073709551615", Schema.of(x=Type.UINT64)) == ((2**64 - 1,), 1)
    with pytest.raises(Malformed):
        row(text, Schema.of(x=Type.UINT64))


def test_types_without_a_form_in_text_are_refused():
    with pytest.raises(UnsupportedError, match=r"column tags: a column of type array\(string\)"):
        check_types(FileLayout(Schema.of(tags=Type.array(Type.STRING))))
