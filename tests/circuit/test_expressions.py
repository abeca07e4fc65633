"""The types of expressions and the small functions on their trees."""

from __future__ import annotations

import pytest
from sqlglot import exp

from deltic.circuit.expressions import (
    ARITHMETIC,
    BITWISE,
    COMPARISONS,
    cast,
    column,
    columns_of,
    infer,
    is_literal,
    is_not_null,
    is_null,
    literal,
    null,
    type_of,
)
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import UnsupportedError
from deltic.values.types import Type, ValueType

TYPES = {"i": Type.INT64, "j": Type.INT64, "u": Type.UINT64, "f": Type.FLOAT64, "s": Type.STRING, "p": Type.BOOLEAN}
LITERALS = [
    (0, Type.INT64),
    (-1, Type.INT64),
    (2**63 - 1, Type.INT64),
    (-(2**63), Type.INT64),
    (0, Type.UINT64),
    (2**64 - 1, Type.UINT64),
    (0.0, Type.FLOAT64),
    (-2.5, Type.FLOAT64),
    (1e300, Type.FLOAT64),
    (5e-324, Type.FLOAT64),
    (0.1, Type.FLOAT64),
    ("", Type.STRING),
    ("it's", Type.STRING),
    ("12", Type.STRING),
    ("ünï ✓", Type.STRING),
    (True, Type.BOOLEAN),
    (False, Type.BOOLEAN),
]


@pytest.mark.parametrize(("value", "type_"), LITERALS)
def test_literals_have_their_type_and_value(value, type_):
    assert type_of(literal(value, type_), {}) is type_
    assert evaluate(literal(value, type_), {}, {}) == value
    assert type(evaluate(literal(value, type_), {}, {})) is type(value)
    assert is_literal(literal(value, type_))


def binary(kind, left: str, right: str) -> exp.Expression:
    return kind(this=column(left), expression=column(right))


@pytest.mark.parametrize("name", ["i", "u", "f"])
@pytest.mark.parametrize("kind", ARITHMETIC)
def test_arithmetic_keeps_the_type(kind, name):
    assert type_of(binary(kind, name, name), TYPES) is TYPES[name]


@pytest.mark.parametrize("name", ["i", "u"])
@pytest.mark.parametrize("kind", [*BITWISE, exp.IntDiv])
def test_integer_operations_keep_the_type(kind, name):
    assert type_of(binary(kind, name, name), TYPES) is TYPES[name]


@pytest.mark.parametrize("name", sorted(TYPES))
@pytest.mark.parametrize("kind", COMPARISONS)
def test_comparisons_are_boolean(kind, name):
    assert type_of(binary(kind, name, name), TYPES) is Type.BOOLEAN


@pytest.mark.parametrize("name", sorted(TYPES))
@pytest.mark.parametrize("kind", [exp.Least, exp.Greatest])
def test_least_and_greatest_keep_the_type(kind, name):
    assert type_of(kind(this=column(name), expressions=[column(name)]), TYPES) is TYPES[name]


@pytest.mark.parametrize("target", [Type.INT64, Type.UINT64, Type.FLOAT64, Type.STRING, Type.BOOLEAN])
def test_casts_have_their_target(target):
    assert type_of(cast(column("i"), target), TYPES) is target


REFUSED = [
    (binary(exp.Add, "i", "u"), "Add of (int64, uint64)"),
    (binary(exp.Add, "s", "s"), "Add of (string, string)"),
    (binary(exp.EQ, "i", "f"), "EQ of (int64, float64)"),
    (binary(exp.BitwiseAnd, "f", "f"), "BitwiseAnd of (float64, float64)"),
    (binary(exp.IntDiv, "f", "f"), "IntDiv of (float64, float64)"),
    (binary(exp.And, "p", "i"), "And of (boolean, int64)"),
    (exp.Not(this=column("i")), "Not of (int64)"),
    (exp.Neg(this=column("s")), "Neg of (string)"),
    (exp.BitwiseNot(this=column("f")), "BitwiseNot of (float64)"),
    (exp.Least(this=column("i"), expressions=[column("s")]), "Least of (int64, string)"),
    (exp.Sqrt(this=column("f")), "Sqrt of (float64)"),
    (binary(exp.LT, "m", "m"), "LT of (map(string, int64), map(string, int64))"),
    (binary(exp.Add, "d", "i"), "Add of (date, int64)"),
    (binary(exp.Add, "d", "d"), "Add of (date, date)"),
    (cast(column("d"), Type.INT64), "TryCast of (date)"),
    (cast(column("m"), Type.INT64), "TryCast of (map(string, int64))"),
]


@pytest.mark.parametrize(("expression", "found"), REFUSED, ids=[found for _, found in REFUSED])
def test_operands_that_do_not_fit(expression, found):
    with pytest.raises(UnsupportedError) as caught:
        type_of(expression, TYPES | {"m": Type.map(Type.STRING, Type.INT64), "d": Type.DATE})
    assert f"{found} is not supported in an expression" in str(caught.value)


def nullable(expression, *, columns=frozenset()) -> bool:
    """Whether an expression may be NULL, where these columns may be."""
    return infer(expression, {n: ValueType(t, n in columns) for n, t in TYPES.items()}).nullable


@pytest.mark.parametrize("kind", [exp.Div, exp.IntDiv, exp.Mod])
def test_division_is_defined_by_a_constant_that_is_not_zero(kind):
    assert not nullable(kind(this=column("i"), expression=literal(-3, Type.INT64)))
    assert not nullable(kind(this=column("u"), expression=literal(3, Type.UINT64)))
    assert nullable(kind(this=column("u"), expression=literal(0, Type.UINT64)))
    assert nullable(kind(this=column("i"), expression=column("j")))


def test_what_may_be_null_though_no_column_is():
    assert nullable(cast(column("s"), Type.INT64))
    assert nullable(cast(column("f"), Type.INT64))
    assert nullable(null(Type.DATE))
    assert nullable(binary(exp.Pow, "i", "j"))
    assert nullable(exp.Neg(this=binary(exp.IntDiv, "i", "j")))
    assert nullable(case(column("p"), column("i")))


def test_what_is_never_null_where_no_column_is():
    assert not nullable(binary(exp.Add, "i", "j"))
    assert not nullable(cast(column("i"), Type.STRING))
    assert not nullable(cast(column("i"), Type.FLOAT64))
    assert not nullable(cast(column("i"), Type.INT8))
    assert not nullable(cast(column("i"), Type.decimal(38, 19)))
    assert nullable(cast(column("i"), Type.decimal(37, 19)))
    assert not nullable(literal(1.5, Type.FLOAT64))
    assert not nullable(case(column("p"), column("i"), column("j")))


def case(condition, value, default=None):
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=default)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (column("i"), "int64?"),
        (binary(exp.Add, "j", "i"), "int64?"),
        (binary(exp.LT, "i", "j"), "boolean?"),
        (binary(exp.NullSafeEQ, "i", "j"), "boolean"),
        (is_null(column("i")), "boolean"),
        (is_not_null(column("i")), "boolean"),
        (exp.And(this=column("p"), expression=binary(exp.EQ, "i", "i")), "boolean?"),
        (exp.Coalesce(this=column("i"), expressions=[column("i")]), "int64?"),
        (exp.Coalesce(this=column("i"), expressions=[column("j")]), "int64"),
        (case(binary(exp.EQ, "i", "j"), column("j"), column("j")), "int64"),
        (case(column("p"), column("j"), column("i")), "int64?"),
        (cast(column("i"), Type.STRING), "string?"),
    ],
)
def test_what_follows_from_a_nullable_column(expression, expected):
    types = {name: ValueType(type_, name == "i") for name, type_ in TYPES.items()}
    assert str(infer(expression, types)) == expected
    assert str(type_of(expression, TYPES)) == expected.removesuffix("?")


D, E = Type.decimal(10, 2), Type.decimal(38, 10)


@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        (exp.Add, D, D, "decimal(11, 2)"),
        (exp.Sub, D, Type.decimal(5, 4), "decimal(13, 4)"),
        (exp.Mul, D, D, "decimal(21, 4)"),
        (exp.Add, E, E, "decimal(38, 9)?"),
        (exp.Mul, E, E, "decimal(38, 6)?"),
        (exp.LT, D, E, "boolean"),
        (exp.Add, Type.DATE, Type.INT32, "date?"),
        (exp.Sub, Type.DATE, Type.DATE, "int32"),
        (exp.Add, Type.TIMESTAMP, Type.DAY_TIME_INTERVAL, "timestamp?"),
        (exp.Sub, Type.TIMESTAMP_NTZ, Type.YEAR_MONTH_INTERVAL, "timestamp_ntz?"),
        (exp.Sub, Type.TIMESTAMP, Type.TIMESTAMP, "day_time_interval"),
        (exp.Add, Type.YEAR_MONTH_INTERVAL, Type.YEAR_MONTH_INTERVAL, "year_month_interval?"),
        (exp.Mul, Type.FLOAT32, Type.FLOAT32, "float32"),
        (exp.BitwiseAnd, Type.UINT8, Type.UINT8, "uint8"),
        (exp.LT, Type.array(D), Type.array(D), "boolean"),
        (exp.EQ, Type.map(D, E), Type.map(D, E), "boolean"),
    ],
)
def test_operators_on_other_types(kind, left, right, expected):
    columns = {"a": ValueType(left), "b": ValueType(right)}
    assert str(infer(binary(kind, "a", "b"), columns)) == expected


def test_columns_in_order_of_appearance():
    expression = exp.And(this=binary(exp.LT, "j", "i"), expression=binary(exp.EQ, "i", "j"))
    assert columns_of(expression) == ("j", "i")
    assert columns_of(literal(1, Type.INT64)) == ()


def test_conversions_of_constants_are_no_literals():
    """Their value may be undefined."""
    assert not is_literal(cast(literal("abc", Type.STRING), Type.INT64))
    assert not is_literal(cast(literal(-1.0, Type.FLOAT64), Type.UINT64))
    assert not is_literal(cast(literal(1, Type.INT64), Type.STRING))
    assert nullable(cast(literal("abc", Type.STRING), Type.INT64))
    assert nullable(cast(literal(-1.0, Type.FLOAT64), Type.UINT64))
