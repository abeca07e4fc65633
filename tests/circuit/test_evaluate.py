"""The meaning of expressions: by hand at the edges, by DuckDB and numpy where their semantics coincide with ours."""

from __future__ import annotations

import random

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from deltic.circuit.expressions import cast, column, literal, show, type_of
from deltic.circuit.expressions.meaning import evaluate
from deltic.functions import call
from deltic.values.types import Type
from tests.differential.expressions import SCHEMA, SMALL, random_row, random_scalar

MIN, MAX, UMAX = -(2**63), 2**63 - 1, 2**64 - 1
TYPES = {"i": Type.INT64, "j": Type.INT64, "u": Type.UINT64, "v": Type.UINT64, "f": Type.FLOAT64, "g": Type.FLOAT64}


def value(kind, left, right=None, of: str = "ij"):
    """The operator applied to one or two values."""
    operands = {"this": column(of[0])} | ({"expression": column(of[1])} if right is not None else {})
    return evaluate(kind(**operands), {of[0]: left, of[1]: right}, TYPES)


@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        (exp.Add, MAX, 1, MIN),
        (exp.Sub, MIN, 1, MAX),
        (exp.Mul, MAX, 2, -2),
        (exp.Mul, MIN, -1, MIN),
        (exp.Div, 7, 2, 3),
        (exp.Div, -7, 2, -3),
        (exp.IntDiv, 7, -2, -3),
        (exp.IntDiv, -7, -2, 3),
        (exp.IntDiv, MIN, -1, MIN),
        (exp.Div, 1, 0, None),
        (exp.Mod, 7, 3, 1),
        (exp.Mod, -7, 3, -1),
        (exp.Mod, 7, -3, 1),
        (exp.Mod, MIN, -1, 0),
        (exp.Mod, 1, 0, None),
        (exp.Pow, 2, 62, 2**62),
        (exp.Pow, 2, 63, MIN),
        (exp.Pow, 3, 64, ((3**64 + 2**63) % 2**64) - 2**63),
        (exp.Pow, 0, 0, 1),
        (exp.Pow, 2, -1, None),
        (exp.BitwiseAnd, -1, 6, 6),
        (exp.BitwiseOr, -8, 3, -5),
        (exp.BitwiseXor, -1, 6, -7),
        (exp.BitwiseLeftShift, 1, 63, MIN),
        (exp.BitwiseLeftShift, 1, 64, 1),
        (exp.BitwiseLeftShift, 3, 63, MIN),
        (exp.BitwiseRightShift, MIN, 63, -1),
        (exp.BitwiseRightShift, 8, 65, 4),
    ],
)
def test_signed_integers(kind, left, right, expected):
    assert value(kind, left, right) == expected


@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        (exp.Add, UMAX, 1, 0),
        (exp.Sub, 0, 1, UMAX),
        (exp.Mul, UMAX, 2, UMAX - 1),
        (exp.Div, UMAX, 2, MAX),
        (exp.Mod, UMAX, 10, 5),
        (exp.BitwiseRightShift, UMAX, 63, 1),
        (exp.BitwiseLeftShift, UMAX, 1, UMAX - 1),
        (exp.LT, MAX, UMAX, True),
    ],
)
def test_unsigned_integers(kind, left, right, expected):
    assert value(kind, left, right, "uv") == expected


@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        (exp.Div, 1.0, 4.0, 0.25),
        (exp.Div, 1.0, 0.0, None),
        (exp.Mod, -7.5, 2.0, -1.5),
        (exp.Mod, 1.0, 0.0, None),
        (exp.Pow, 2.0, -1.0, 0.5),
        (exp.Pow, -1.0, 0.5, None),
        (exp.Pow, 0.0, -1.0, None),
        (exp.Pow, 10.0, 400.0, None),
    ],
)
def test_floats(kind, left, right, expected):
    assert value(kind, left, right, "fg") == expected


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        (exp.EQ, NAN, NAN, True),
        (exp.EQ, NAN, INF, False),
        (exp.LT, INF, NAN, True),
        (exp.GT, NAN, INF, True),
        (exp.LTE, NAN, NAN, True),
        (exp.LT, NAN, NAN, False),
        (exp.EQ, 0.0, -0.0, True),
        (exp.LT, -0.0, 0.0, False),
    ],
)
def test_the_order_of_floats_is_sql_s(kind, left, right, expected):
    assert value(kind, left, right, "fg") is expected


@pytest.mark.parametrize(
    ("kind", "operand", "of", "expected"),
    [
        (exp.Neg, MIN, "ij", MIN),
        (exp.Neg, 1, "uv", UMAX),
        (exp.Neg, 1.5, "fg", -1.5),
        (exp.BitwiseNot, 0, "ij", -1),
        (exp.BitwiseNot, 0, "uv", UMAX),
    ],
)
def test_unary(kind, operand, of, expected):
    assert value(kind, operand, of=of) == expected


@pytest.mark.parametrize(
    ("name", "operand", "target", "expected"),
    [
        ("i", -1, Type.UINT64, UMAX),
        ("u", UMAX, Type.INT64, -1),
        ("i", MAX, Type.FLOAT64, 2.0**63),
        ("f", -1.9, Type.INT64, -1),
        ("f", 1.9, Type.UINT64, 1),
        ("f", -1.0, Type.UINT64, None),
        ("f", 2.0**63, Type.INT64, None),
        ("f", -(2.0**63), Type.INT64, MIN),
        ("f", float("nan"), Type.INT64, None),
        ("i", -12, Type.STRING, "-12"),
        ("u", UMAX, Type.STRING, str(UMAX)),
        ("s", "12", Type.INT64, 12),
        ("s", "-12", Type.INT64, -12),
        ("s", "+12", Type.INT64, 12),
        ("s", " 12", Type.INT64, 12),
        ("s", "12a", Type.INT64, None),
        ("s", "1.5", Type.INT64, None),
        ("s", "1e3", Type.INT64, None),
        ("s", "", Type.INT64, None),
        ("s", str(MAX), Type.INT64, MAX),
        ("s", str(MAX + 1), Type.INT64, None),
        ("s", "-1", Type.UINT64, None),
        ("s", str(UMAX), Type.UINT64, UMAX),
        ("s", "-1.5e2", Type.FLOAT64, -150.0),
        ("s", ".5", Type.FLOAT64, 0.5),
        ("s", "inf", Type.FLOAT64, float("inf")),
    ],
)
def test_casts(name, operand, target, expected):
    assert evaluate(cast(column(name), target), {name: operand}, {**TYPES, "s": Type.STRING}) == expected


def truth(text: str) -> bool | None:
    return {"T": True, "F": False, "N": None}[text]


@pytest.mark.parametrize("row", ["TT T T", "TF F T", "TN N T", "FF F F", "FN F N", "NN N N"])
def test_three_valued_logic(row):
    (left, right), both, either = row.split()
    names = {"p": Type.BOOLEAN, "q": Type.BOOLEAN}
    for values in ((left, right), (right, left)):
        named = dict(zip(names, map(truth, values), strict=True))
        p, q = column("p"), column("q")
        assert evaluate(exp.And(this=p, expression=q), named, names) is truth(both)
        assert evaluate(exp.Or(this=p, expression=q), named, names) is truth(either)


@pytest.mark.parametrize(("operand", "expected"), [(True, False), (False, True), (None, None)])
def test_not(operand, expected):
    assert evaluate(exp.Not(this=column("p")), {"p": operand}, {"p": Type.BOOLEAN}) is expected


@pytest.mark.parametrize("kind", [exp.Add, exp.Mod, exp.LT, exp.EQ, exp.BitwiseAnd])
def test_null_operands_make_null(kind):
    assert value(kind, None, 1) is None
    assert value(kind, 1, 1) is not None


@pytest.mark.parametrize("kind", [exp.Least, exp.Greatest])
def test_least_and_greatest_of_null_are_null(kind):
    both = kind(this=column("i"), expressions=[column("j")])
    assert evaluate(both, {"i": None, "j": 1}, TYPES) is None
    assert evaluate(both, {"i": 2, "j": -1}, TYPES) == (-1 if kind is exp.Least else 2)


def test_is_null():
    test = exp.Is(this=column("i"), expression=exp.Null())
    assert evaluate(test, {"i": None}, TYPES) is True
    assert evaluate(test, {"i": 0}, TYPES) is False


def texts(*values: str) -> list[exp.Expression]:
    return [literal(v, Type.STRING) for v in values]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (call("concat", *texts("é", "✓")), "é✓"),
        (call("length", *texts("é✓x")), 3),
        (call("substring", *texts("abcde"), literal(2, Type.INT32), literal(3, Type.INT32)), "bcd"),
    ],
    ids=lambda e: show(e) if isinstance(e, exp.Expression) else "",
)
def test_functions(expression, expected):
    found = evaluate(expression, {}, {})
    assert found == expected
    assert type(found) is type(expected)


BATCHES, ROWS, EXPRESSIONS = 8, 25, 25


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("type_", [Type.INT64, Type.UINT64, Type.FLOAT64, Type.STRING, Type.BOOLEAN])
def test_against_duckdb(type_, batch):
    """The text of an expression means in DuckDB what its tree means here: parentheses and NULLs included."""
    rng = random.Random(f"{type_}{batch}")
    rows = [random_row(rng, SMALL) for _ in range(ROWS)]
    trees = [random_scalar(rng, type_, portable=True) for _ in range(EXPRESSIONS)]
    assert {type_of(tree, SCHEMA.types) for tree in trees} == {type_}
    for tree, expected in zip(trees, by_duckdb(rows, trees), strict=True):
        found = [evaluate(tree, dict(zip(SCHEMA.names, row, strict=True)), SCHEMA.types) for row in rows]
        assert found == expected, show(tree)


def by_duckdb(rows: list[tuple], trees: list[exp.Expression]) -> list[list]:
    """The values of each expression on all rows."""
    columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), SCHEMA.to_arrow(), strict=True)]
    operands = pa.table(columns, schema=SCHEMA.to_arrow())
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET error_on_division_by_zero = false; SET ieee_floating_point_ops = false")
        connection.register("operands", operands)
        selected = ", ".join(f"{show(tree)} AS r{i}" for i, tree in enumerate(trees))
        result = connection.sql(f"SELECT {selected} FROM operands").to_arrow_table()
    return [column.to_pylist() for column in result.columns]


WRAPPING = {exp.Add: np.add, exp.Sub: np.subtract, exp.Mul: np.multiply}


@pytest.mark.parametrize("kind", WRAPPING)
@given(left=st.integers(MIN, MAX), right=st.integers(MIN, MAX))
def test_wrap_around_is_that_of_64_bit_machines(kind, left, right):
    signed = WRAPPING[kind](np.array([left]), np.array([right]))
    assert value(kind, left, right) == signed[0]
    unsigned = WRAPPING[kind](np.array([left & UMAX], np.uint64), np.array([right & UMAX], np.uint64))
    assert value(kind, left & UMAX, right & UMAX, "uv") == unsigned[0]


@given(left=st.integers(MIN, MAX), right=st.integers(MIN, MAX).filter(bool))
def test_division_truncates_and_the_remainder_fits_it(left, right):
    quotient, remainder = value(exp.IntDiv, left, right), value(exp.Mod, left, right)
    assert abs(remainder) < abs(right)
    assert remainder == 0 or (remainder < 0) == (left < 0)
    assert (quotient * right + remainder - left) % 2**64 == 0
