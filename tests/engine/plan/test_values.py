"""Values that a search computes, NULL included, against expressions over whole columns: the same values and NULLs.

This catches an operand whose NULL is read as a value, a COALESCE that takes the wrong operand, a CASE whose unknown
condition is taken for true, and a value that is chosen by the first bits of a truth value alone.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from sqlglot import exp, parse_one

from deltic.circuit.expressions import cast, column, literal, show, type_of
from deltic.engine.operators import scalar
from deltic.engine.plan.values import is_value
from deltic.values.types import Type
from tests.engine.plan.test_conditions import CENTS, NAMES, TYPES, VALUES, Trial, random_condition

OPERATIONS = {Type.INT64: (exp.Add, exp.Sub, exp.Mul, exp.BitwiseXor), Type.UINT64: (exp.Add, exp.Sub)}


def random_value(rng: random.Random, type_: Type, depth: int) -> exp.Expression:
    """A value of a type over the columns, of every form that a search computes."""
    if not depth or rng.random() < 0.2:
        names = [name for name, other in TYPES.items() if other is type_]
        leaves = [column(rng.choice(names)), literal(rng.choice(VALUES[type_]), type_), cast(exp.Null(), type_)]
        return rng.choices(leaves, (6, 2, 1))[0]

    def part() -> exp.Expression:
        return exp.Paren(this=random_value(rng, type_, depth - 1)) if type_ in OPERATIONS else value()

    def value() -> exp.Expression:
        return random_value(rng, type_, depth - 1)

    match rng.randrange(3 if type_ in OPERATIONS else 2):
        case 0:
            return exp.Coalesce(this=value(), expressions=[value() for _ in range(rng.randint(1, 2))])
        case 1:
            ifs = [exp.If(this=random_condition(rng, 1), true=value()) for _ in range(rng.randint(1, 2))]
            return exp.Case(ifs=ifs, **({"default": value()} if rng.random() < 0.7 else {}))
    return rng.choice(OPERATIONS[type_])(this=part(), expression=part())


def check(rng: random.Random, expression: exp.Expression) -> tuple[int, int]:
    """A search finds what columns find; return how many values there are, and how many NULLs."""
    trial = Trial(rng, 25)
    values, nulls = scalar.held(expression, trial.columns)
    values = np.broadcast_to(values, 25).tolist()
    expected = [None if nulls is not None and nulls[i] else value for i, value in enumerate(values)]
    assert trial.held(expression, lambda assembler: assembler.value(expression)) == expected, show(expression)
    return 25 - expected.count(None), expected.count(None)


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_a_search_computes_what_columns_do(type_: Type) -> None:
    rng = random.Random(str(type_))
    tried, there, nulls = 0, 0, 0
    while tried < 60:
        expression = random_value(rng, type_, 3)
        if is_value(expression, NAMES):
            tried += 1
            some, others = check(rng, expression)
            there, nulls = there + some, nulls + others
    assert there > 300
    assert nulls > 150


@pytest.mark.parametrize("text", ["n5 - COALESCE(n5, c5)", "n5 - n6", "c5 - c6", "COALESCE(n5 - c5, n5 - n5)"])
def test_decimals(text: str) -> None:
    expression = parse_one(text, dialect="duckdb")
    assert isinstance(expression, exp.Expression)
    assert is_value(expression, NAMES)
    assert type_of(expression, TYPES).scale == CENTS.scale
    check(random.Random(text), expression)


@pytest.mark.parametrize("text", ["c2 + 1.5", "c0 // n0", "COALESCE(n0, c0 // c0)", "SPARK_LENGTH(c3)", "c0 < n0"])
def test_what_searches_leave_to_vectors(text: str) -> None:
    expression = parse_one(text, dialect="duckdb")
    assert isinstance(expression, exp.Expression)
    assert not is_value(expression, NAMES)
