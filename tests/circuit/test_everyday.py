"""Everyday functions on single values: each means what DuckDB makes of columns. Catches a definition that is off."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from deltic.circuit.expressions import cast, column
from deltic.circuit.expressions.duckdb import computed, over_columns
from deltic.circuit.expressions.everyday import FLOAT_TEXT, everyday
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
_PLACE = st.one_of(st.integers(-8, 8), st.sampled_from([2**31, 2**32 - 1, 2**32, -(2**32), -(2**63), 2**63 - 1]))
_OF_TEXT = (Type.INT64, Type.UINT64, Type.INT8, Type.INT32, Type.FLOAT64)
_FLOATS = st.one_of(
    st.floats(allow_nan=False), st.sampled_from([0.0, 1e15, 1e16, 1e17, 123456.75, 1e-4, 1e-5, math.inf, math.nan])
)


def _call(kind: type[exp.Expression], **operands: str) -> exp.Expression:
    return kind(**{role: column(name) for role, name in operands.items()})


_CASES = [
    (_call(exp.DPipe, this="a", expression="b"), (Type.STRING, Type.STRING), (_TEXT, _TEXT), Type.STRING),
    (_call(exp.Length, this="a"), (Type.STRING,), (_TEXT,), Type.INT64),
    (
        _call(exp.Substring, this="a", start="b", length="c"),
        (Type.STRING, Type.INT64, Type.INT64),
        (_TEXT, _PLACE, _PLACE),
        Type.STRING,
    ),
    *((cast(column("a"), target), (Type.STRING,), (_NUMBER,), target) for target in _OF_TEXT),
    (cast(column("a"), Type.STRING), (Type.INT64,), (st.integers(-(2**63), 2**63 - 1),), Type.STRING),
    (cast(column("a"), Type.STRING), (Type.UINT64,), (st.integers(0, 2**64 - 1),), Type.STRING),
    (cast(column("a"), Type.STRING), (Type.FLOAT64,), (_FLOATS,), Type.STRING),
]


def _name(node: exp.Expression, types: tuple[Type, ...], values: object, result: Type) -> str:
    return f"{type(node).__name__}-{types[0]}-{result}"


@pytest.mark.parametrize("number", range(len(_CASES)), ids=lambda number: _name(*_CASES[number]))
@settings(max_examples=50)
@given(st.data())
def test_a_definition_is_what_duckdb_makes_of_columns(number, data):
    node, types, values, result = _CASES[number]
    rows = data.draw(st.lists(st.tuples(*values), min_size=1, max_size=20))
    columns = [to_arrow(drawn, type_) for drawn, type_ in zip(zip(*rows, strict=True), types, strict=True)]
    expected = from_arrow(computed(over_columns(node), columns, types, result), result)
    define = everyday(node, types, result)
    assert define is not None
    for row, wanted in zip(rows, expected, strict=True):
        found = define(*row)
        assert found is NotImplemented or found == (wanted if wanted != "-0.0" else "0.0"), row
        assert type(found) is type(wanted) or found is NotImplemented


def test_most_arguments_are_defined_without_duckdb():
    define = {type(node): everyday(node, types, result) for node, types, _, result in _CASES}
    assert define[exp.Substring]("a😀c", 2, 1) == "😀"
