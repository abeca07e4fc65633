"""What has two definitions: casts of texts and functions for few rows mean what DuckDB makes of columns.

Catches a definition for single values that is off.
"""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from deltic.circuit.expressions import cast, column
from deltic.circuit.expressions.duckdb import computed, over_columns
from deltic.circuit.expressions.text_casts import FLOAT_TEXT, text_cast
from deltic.functions import FUNCTIONS, call
from deltic.values import from_arrow, to_arrow
from deltic.values.types import Type

_TEXT = st.lists(st.sampled_from("aBéßİ😀𝔸\u0301\n 0+-."), max_size=8).map("".join)
_NUMBER = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.integers(-(2**70), 2**70).map(str),
    st.floats(allow_nan=False).map(repr),
    st.from_regex(re.compile(FLOAT_TEXT, re.ASCII), fullmatch=True),
    st.text("0123456789+-.eE \n١", max_size=8),
    st.sampled_from(["", "1" * 5000, "0" * 5000 + "7", "-" + "0" * 50 + "1", "1e999", "-1e-999", "nan", "inf", "1_0"]),
)
_PLACE = st.one_of(st.integers(-8, 8), st.sampled_from([2**31 - 1, -(2**31), 2**30, 1 - 2**31]))
_OF_TEXT = (Type.INT64, Type.UINT64, Type.INT8, Type.INT32, Type.FLOAT64)
_FLOATS = st.one_of(
    st.floats(allow_nan=False), st.sampled_from([0.0, 1e15, 1e16, 1e17, 123456.75, 1e-4, 1e-5, math.inf, math.nan])
)
_CASTS = [
    *(((Type.STRING, target), _NUMBER) for target in _OF_TEXT),
    ((Type.INT64, Type.STRING), st.integers(-(2**63), 2**63 - 1)),
    ((Type.UINT64, Type.STRING), st.integers(0, 2**64 - 1)),
    ((Type.FLOAT64, Type.STRING), _FLOATS),
]
_CALLS = {"substring": ((Type.STRING, Type.INT32, Type.INT32), (_TEXT, _PLACE, _PLACE))}


def _by_duckdb(node: exp.Expression, types, rows, result: Type) -> list[object]:
    columns = [to_arrow(drawn, type_) for drawn, type_ in zip(zip(*rows, strict=True), types, strict=True)]
    return from_arrow(computed(over_columns(node), columns, types, result), result)


@pytest.mark.parametrize("number", range(len(_CASTS)), ids=lambda number: "-".join(map(str, _CASTS[number][0])))
@settings(max_examples=50)
@given(st.data())
def test_a_cast_is_what_duckdb_makes_of_columns(number, data):
    (source, target), values = _CASTS[number]
    rows = data.draw(st.lists(st.tuples(values), min_size=1, max_size=20))
    define = text_cast(source, target)
    assert define is not None
    for row, wanted in zip(rows, _by_duckdb(cast(column("a"), target), (source,), rows, target), strict=True):
        found = define(*row)
        assert found == (wanted if wanted != "-0.0" else "0.0"), row
        assert type(found) is type(wanted)


def test_every_function_with_two_definitions_is_tried():
    assert {name for name, one in FUNCTIONS.items() if one.duckdb and one.python} == {*_CALLS}


@pytest.mark.parametrize("name", _CALLS)
@settings(max_examples=50)
@given(st.data())
def test_a_function_of_few_rows_is_what_duckdb_makes_of_columns(name, data):
    types, values = _CALLS[name]
    rows = data.draw(st.lists(st.tuples(*values), min_size=1, max_size=20))
    node, result = call(name, *map(column, "abc"[: len(types)])), FUNCTIONS[name].type(exp.Null(), types)
    expected = _by_duckdb(node, types, rows, result)
    assert [FUNCTIONS[name].python(*row) for row in rows] == expected
