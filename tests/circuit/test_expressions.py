"""The types of expressions and the small functions on their trees."""

from __future__ import annotations

import pytest
from sqlglot import exp

from deltic.circuit.expressions import (
    ARITHMETIC,
    BITWISE,
    COMPARISONS,
    FUNCTIONS,
    cast,
    column,
    columns_of,
    infer,
    is_function,
    is_literal,
    is_total,
    literal,
)
from deltic.circuit.oracle.evaluate import evaluate
from deltic.circuit.types import Type
from deltic.errors import UnsupportedError

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
    assert infer(literal(value, type_), {}) is type_
    assert evaluate(literal(value, type_), {}, {}) == value
    assert type(evaluate(literal(value, type_), {}, {})) is type(value)
    assert is_literal(literal(value, type_))


def binary(kind, left: str, right: str) -> exp.Expression:
    return kind(this=column(left), expression=column(right))


@pytest.mark.parametrize("name", ["i", "u", "f"])
@pytest.mark.parametrize("kind", ARITHMETIC)
def test_arithmetic_keeps_the_type(kind, name):
    assert infer(binary(kind, name, name), TYPES) is TYPES[name]


@pytest.mark.parametrize("name", ["i", "u"])
@pytest.mark.parametrize("kind", [*BITWISE, exp.IntDiv])
def test_integer_operations_keep_the_type(kind, name):
    assert infer(binary(kind, name, name), TYPES) is TYPES[name]


@pytest.mark.parametrize("name", sorted(TYPES))
@pytest.mark.parametrize("kind", COMPARISONS)
def test_comparisons_are_boolean(kind, name):
    assert infer(binary(kind, name, name), TYPES) is Type.BOOLEAN


@pytest.mark.parametrize("name", sorted(TYPES))
@pytest.mark.parametrize("kind", [exp.Least, exp.Greatest])
def test_least_and_greatest_keep_the_type(kind, name):
    assert infer(kind(this=column(name), expressions=[column(name)]), TYPES) is TYPES[name]


@pytest.mark.parametrize("target", [Type.INT64, Type.UINT64, Type.FLOAT64, Type.STRING, Type.BOOLEAN])
def test_casts_have_their_target(target):
    assert infer(cast(column("i"), target), TYPES) is target


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
]


@pytest.mark.parametrize(("expression", "found"), REFUSED, ids=[found for _, found in REFUSED])
def test_operands_that_do_not_fit(expression, found):
    with pytest.raises(UnsupportedError) as caught:
        infer(expression, TYPES)
    assert f"{found} is not supported in an expression" in str(caught.value)


@pytest.mark.parametrize("kind", [exp.Div, exp.IntDiv, exp.Mod])
def test_division_is_total_by_a_constant_that_is_not_zero(kind):
    assert is_total(kind(this=column("i"), expression=literal(-3, Type.INT64)))
    assert is_total(kind(this=column("u"), expression=literal(3, Type.UINT64)))
    assert not is_total(kind(this=column("u"), expression=literal(0, Type.UINT64)))
    assert not is_total(kind(this=column("i"), expression=column("j")))


def test_other_total_expressions():
    assert is_total(binary(exp.Add, "i", "j"))
    assert is_total(cast(column("i"), Type.STRING))
    assert is_total(literal(1.5, Type.FLOAT64))
    assert not is_total(cast(column("s"), Type.INT64))
    assert not is_total(binary(exp.Pow, "i", "j"))
    assert not is_total(exp.Neg(this=binary(exp.Div, "i", "j")))


def test_columns_in_order_of_appearance():
    expression = exp.And(this=binary(exp.LT, "j", "i"), expression=binary(exp.EQ, "i", "j"))
    assert columns_of(expression) == ("j", "i")
    assert columns_of(literal(1, Type.INT64)) == ()


def test_functions_are_told_from_the_closed_core():
    assert all(is_function(kind(this=column("s"))) for kind in FUNCTIONS)
    assert is_function(cast(column("i"), Type.STRING))
    assert not is_function(binary(exp.Add, "i", "i"))
    assert not is_literal(column("i"))


def test_conversions_of_constants_are_no_literals():
    """Their value may be undefined."""
    assert not is_literal(cast(literal("abc", Type.STRING), Type.INT64))
    assert not is_literal(cast(literal(-1.0, Type.FLOAT64), Type.UINT64))
    assert not is_literal(cast(literal(1, Type.INT64), Type.STRING))
    assert not is_total(cast(literal("abc", Type.STRING), Type.INT64))
    assert not is_total(cast(literal(-1.0, Type.FLOAT64), Type.UINT64))
